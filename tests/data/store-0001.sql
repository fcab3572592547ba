BEGIN TRANSACTION;
CREATE TABLE hentropy_observations (
	id INTEGER NOT NULL,
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	at DOUBLE NOT NULL,
	"by" VARCHAR(200) NOT NULL,
	state VARCHAR(20) NOT NULL,
	value DOUBLE,
	std_error DOUBLE,
	note TEXT NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_observations" VALUES(1,1,0,1790000002.0,'lab','complete',1.25,NULL,'');
INSERT INTO "hentropy_observations" VALUES(2,1,0,1790000002.0,'lab','complete',1.5,NULL,'read again');
INSERT INTO "hentropy_observations" VALUES(3,1,1,1790000002.0,'lab','failed',NULL,NULL,'the oven broke');
INSERT INTO "hentropy_observations" VALUES(4,1,2,1790000002.0,'lab','complete',2.75,NULL,'');
CREATE TABLE hentropy_studies (
	id INTEGER NOT NULL,
	name VARCHAR(200) NOT NULL,
	definition JSON NOT NULL,
	versions JSON NOT NULL,
	created_at DOUBLE NOT NULL,
	revision INTEGER NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
INSERT INTO "hentropy_studies" VALUES(1,'alloys','{"version": 1, "name": "alloys", "seed": 3, "first": 4, "space": {"x": {"type": "real", "low": -1.0, "high": 3.0, "log": false}}, "decision": {"name": "maximize"}, "model": {"hyperparameters": "map"}}','{"hentropy": "0.1.0.dev0"}',1790000000.5,9);
CREATE TABLE hentropy_trials (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	params JSON NOT NULL,
	state VARCHAR(20) NOT NULL,
	value DOUBLE,
	std_error DOUBLE,
	gain DOUBLE,
	gain_error DOUBLE,
	entropy DOUBLE,
	origin VARCHAR(20) NOT NULL,
	note TEXT NOT NULL,
	asked_at DOUBLE NOT NULL,
	ended_at DOUBLE,
	owner VARCHAR(200),
	lease_until DOUBLE,
	tries INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	PRIMARY KEY (study_id, number),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_trials" VALUES(1,0,'{"x": 0.25}','complete',1.5,0.1,NULL,NULL,NULL,'first','',1790000001.0,1790000002.0,NULL,NULL,0,1);
INSERT INTO "hentropy_trials" VALUES(1,1,'{"x": 1.75}','failed',NULL,NULL,NULL,NULL,NULL,'first','the oven broke',1790000001.0,1790000002.0,NULL,NULL,1,2);
INSERT INTO "hentropy_trials" VALUES(1,2,'{"x": 1.0}','complete',2.75,0.1,NULL,NULL,NULL,'first','',1790000001.0,1790000002.0,NULL,NULL,0,3);
INSERT INTO "hentropy_trials" VALUES(1,3,'{"x": 2.5}','running',NULL,NULL,0.125,NULL,NULL,'proposed','',1790000001.0,1790000002.0,'old-worker',1790000100.0,0,4);
CREATE TABLE hentropy_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT hentropy_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hentropy_version" VALUES('0001');
CREATE INDEX hentropy_trials_by_revision ON hentropy_trials (study_id, revision);
CREATE INDEX hentropy_observations_by_trial ON hentropy_observations (study_id, number);
COMMIT;
