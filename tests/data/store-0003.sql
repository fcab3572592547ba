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
INSERT INTO "hentropy_observations" VALUES(1,1,0,1.79512603346767854687e+09,'me@here','complete',1.25,0.1,'');
INSERT INTO "hentropy_observations" VALUES(2,1,0,1.79512603347020125387e+09,'me@here','complete',1.5,0.2,'');
INSERT INTO "hentropy_observations" VALUES(3,1,1,1.79512603347498869892e+09,'me@here','failed',NULL,NULL,'clogged');
INSERT INTO "hentropy_observations" VALUES(4,1,2,1.79512603348288512228e+09,'me@here','complete',3.33333333333333314829e-01,NULL,'warm');
INSERT INTO "hentropy_observations" VALUES(5,1,4,1.79512603348736071587e+09,'me@here','complete',7.0,NULL,'');
INSERT INTO "hentropy_observations" VALUES(6,1,5,1.79512603349116444586e+09,'me@here','complete',2.0,NULL,'');
INSERT INTO "hentropy_observations" VALUES(7,1,6,1.79512603393453359611e+09,'me@here','complete',6.5,NULL,'');
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
INSERT INTO "hentropy_studies" VALUES(1,'inks','{"version": 1, "name": "inks", "seed": 0, "first": 4, "space": {"x": {"type": "real", "low": 0.0, "high": 1.0, "log": false, "step": null, "unit": ""}}, "where": [], "tables": {}, "same_in_batch": [], "pool": null, "decision": {"name": "maximize"}, "model": {"hyperparameters": "auto"}, "solver": {"max_seconds": null, "max_memory": null}, "stop": {"trials": null, "seconds": null, "gain_below": null, "patience": 1, "cost": null, "when_exhausted": true}, "own": []}','{"hentropy": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu", "gpytorch": "1.15.2", "botorch": "0.18.1", "numpy": "2.4.6", "scipy": "1.17.1"}',1.79512603342310523985e+09,9);
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
	revision INTEGER NOT NULL, losses INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (study_id, number),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_trials" VALUES(1,0,'{"x": 0.47510719299316406}','complete',1.5,0.2,NULL,NULL,NULL,'first','',1.79512603344788622861e+09,1795126033.4695,NULL,NULL,0,3,0);
INSERT INTO "hentropy_trials" VALUES(1,1,'{"x": 0.5601231446489692}','failed',NULL,NULL,NULL,NULL,NULL,'first','clogged',1.79512603344788622861e+09,1.79512603347429323193e+09,NULL,NULL,0,4,0);
INSERT INTO "hentropy_trials" VALUES(1,2,'{"x": 0.9877832401543856}','complete',3.33333333333333314829e-01,NULL,NULL,NULL,NULL,'first','warm',1.79512603344788622861e+09,1.79512603348218536375e+09,NULL,NULL,0,5,0);
INSERT INTO "hentropy_trials" VALUES(1,3,'{"x": 0.039489383809268475}','running',NULL,NULL,NULL,NULL,NULL,'first','',1.79512603344788622861e+09,NULL,NULL,NULL,0,1,0);
INSERT INTO "hentropy_trials" VALUES(1,4,'{"x": 0.25}','complete',7.0,NULL,NULL,NULL,NULL,'attached','',1.79512603348458766932e+09,1.79512603348458766932e+09,NULL,NULL,0,6,0);
INSERT INTO "hentropy_trials" VALUES(1,5,'{"x": 0.75}','complete',2.0,NULL,NULL,NULL,NULL,'attached','',1.79512603349070334435e+09,1.79512603349070334435e+09,NULL,NULL,0,7,0);
INSERT INTO "hentropy_trials" VALUES(1,6,'{"x": 0.2680870583280921}','complete',6.5,NULL,2.84555334810298932168e-01,2.96827147073037457547e-02,-7.0045772771300036652e+00,'proposed','',1.79512603392122936252e+09,1.79512603393365406992e+09,NULL,NULL,0,9,0);
CREATE TABLE hentropy_turns (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	holder VARCHAR(200),
	since DOUBLE NOT NULL,
	renewals INTEGER NOT NULL,
	drawn INTEGER NOT NULL,
	PRIMARY KEY (study_id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_turns" VALUES(1,2,NULL,1.79512603349547934534e+09,0,2);
CREATE TABLE hentropy_verdicts (
	id INTEGER NOT NULL,
	study_id INTEGER NOT NULL,
	at DOUBLE NOT NULL,
	decision TEXT NOT NULL,
	observations INTEGER NOT NULL,
	expected_loss DOUBLE NOT NULL,
	std_error DOUBLE NOT NULL,
	action JSON NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_verdicts" VALUES(1,1,1.7951260341100945473e+09,'Maximize()',5,-7.34585735705444786702e+00,0.0,'[{"x": 0.20402488469010924, "mean": 7.345857357054447, "sd": 1.0043224143527674}]');
CREATE TABLE hentropy_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT hentropy_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hentropy_version" VALUES('0003');
CREATE INDEX hentropy_trials_by_revision ON hentropy_trials (study_id, revision);
CREATE INDEX hentropy_observations_by_trial ON hentropy_observations (study_id, number);
CREATE INDEX hentropy_verdicts_by_study ON hentropy_verdicts (study_id);
COMMIT;
