BEGIN TRANSACTION;
CREATE TABLE hentropy_observations (
	id INTEGER NOT NULL,
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	at DOUBLE NOT NULL,
	"by" VARCHAR(200) NOT NULL,
	state VARCHAR(20) NOT NULL,
	note TEXT NOT NULL, cost DOUBLE, measurements JSON DEFAULT '{}' NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_observations" VALUES(1,1,0,1.79512606644470238681e+09,'me@here','complete','',2.0,'{"value": {"value": 1.25, "std_error": 0.1}}');
INSERT INTO "hentropy_observations" VALUES(2,1,0,1.79512606646428441998e+09,'me@here','complete','',2.0,'{"value": {"value": 1.5, "std_error": 0.2}}');
INSERT INTO "hentropy_observations" VALUES(3,1,1,1.79512606648002648358e+09,'me@here','failed','clogged',NULL,'{}');
INSERT INTO "hentropy_observations" VALUES(4,1,2,1.7951260664923870563e+09,'me@here','complete','warm',2.0,'{"value": {"value": 0.3333333333333333, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(5,1,4,1.79512606651211953159e+09,'me@here','complete','',NULL,'{"value": {"value": 7.0, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(6,1,5,1.79512606654261612894e+09,'me@here','complete','',NULL,'{"value": {"value": 2.0, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(7,1,6,1.79512607040401029581e+09,'me@here','complete','',2.0,'{"value": {"value": 6.5, "std_error": null}}');
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
INSERT INTO "hentropy_studies" VALUES(1,'inks','{"version": 1, "name": "inks", "seed": 0, "first": 4, "space": {"x": {"type": "real", "low": 0.0, "high": 1.0, "log": false, "step": null, "unit": ""}}, "where": [], "tables": {}, "same_in_batch": [], "pool": null, "decide_on": null, "outcomes": {}, "assays": {}, "decision": {"name": "maximize", "outcome": null, "subject_to": [], "fallback": null}, "cost": {"of": "told", "unit": "", "price": null}, "model": {"hyperparameters": "auto", "python": null, "failures": "learn", "at_least": 0.5}, "solver": {"max_seconds": null, "max_memory": null}, "stop": {"trials": null, "seconds": null, "gain_below": null, "patience": 1, "cost": null, "spend": null, "worth_its_cost": false, "when_exhausted": true}, "own": []}','{"hentropy": "0.2.0", "python": "3.11.7", "torch": "2.13.0+cpu", "gpytorch": "1.15.2", "botorch": "0.18.1", "numpy": "2.4.6", "scipy": "1.17.1"}',1.7951260623420023918e+09,9);
CREATE TABLE hentropy_trials (
	study_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	params JSON NOT NULL,
	state VARCHAR(20) NOT NULL,
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
	revision INTEGER NOT NULL, losses INTEGER DEFAULT '0' NOT NULL, expected_cost DOUBLE, cost DOUBLE, measurements JSON DEFAULT '{}' NOT NULL, measures JSON DEFAULT '[]' NOT NULL,
	PRIMARY KEY (study_id, number),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_trials" VALUES(1,0,'{"x": 0.47510719299316406}','complete',NULL,NULL,NULL,'first','',1.79512606640673017498e+09,1.79512606646312642094e+09,NULL,NULL,0,3,0,NULL,2.0,'{"value": {"value": 1.5, "std_error": 0.2}}','[]');
INSERT INTO "hentropy_trials" VALUES(1,1,'{"x": 0.5601231446489692}','failed',NULL,NULL,NULL,'first','clogged',1.79512606640673017498e+09,1.79512606647892403602e+09,NULL,NULL,0,4,0,NULL,NULL,'{}','[]');
INSERT INTO "hentropy_trials" VALUES(1,2,'{"x": 0.9877832401543856}','complete',NULL,NULL,NULL,'first','warm',1.79512606640673017498e+09,1.79512606649100971223e+09,NULL,NULL,0,5,0,NULL,2.0,'{"value": {"value": 0.3333333333333333, "std_error": null}}','[]');
INSERT INTO "hentropy_trials" VALUES(1,3,'{"x": 0.039489383809268475}','running',NULL,NULL,NULL,'first','',1.79512606640673017498e+09,NULL,NULL,NULL,0,1,0,NULL,NULL,'{}','[]');
INSERT INTO "hentropy_trials" VALUES(1,4,'{"x": 0.25}','complete',NULL,NULL,NULL,'attached','',1.79512606651079559324e+09,1.79512606651079559324e+09,NULL,NULL,0,6,0,NULL,NULL,'{"value": {"value": 7.0, "std_error": null}}','[]');
INSERT INTO "hentropy_trials" VALUES(1,5,'{"x": 0.75}','complete',NULL,NULL,NULL,'attached','',1.79512606652523875241e+09,1.79512606652523875241e+09,NULL,NULL,0,7,0,NULL,NULL,'{"value": {"value": 2.0, "std_error": null}}','[]');
INSERT INTO "hentropy_trials" VALUES(1,6,'{"x": 0.29721813811063763}','complete',0.0642278146655349,1.10378890520006576331e-02,-5.64931147548761636301e+00,'proposed','',1.79512607037422609324e+09,1.79512607040212154385e+09,NULL,NULL,0,9,0,NULL,2.0,'{"value": {"value": 6.5, "std_error": null}}','[]');
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
INSERT INTO "hentropy_turns" VALUES(1,2,NULL,1.79512606655578875547e+09,0,2);
CREATE TABLE hentropy_verdicts (
	id INTEGER NOT NULL,
	study_id INTEGER NOT NULL,
	at DOUBLE NOT NULL,
	decision TEXT NOT NULL,
	observations INTEGER NOT NULL,
	expected_loss DOUBLE NOT NULL,
	std_error DOUBLE NOT NULL,
	action JSON NOT NULL, headline TEXT DEFAULT '' NOT NULL, worth TEXT DEFAULT '' NOT NULL, failed INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_verdicts" VALUES(1,1,1.79512607086713337897e+09,'Maximize()',5,-6.04969702002768272564e+00,0.0,'[{"x": 0.23854078790512184, "mean": 7.026300092505369, "sd": 0.331250265382181, "chance of success": 0.8537871768837174}]','The best design: value 7.03 ± 0.33. A run there succeeds with 85 % probability.','',1);
CREATE TABLE hentropy_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT hentropy_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hentropy_version" VALUES('0007');
CREATE INDEX hentropy_trials_by_revision ON hentropy_trials (study_id, revision);
CREATE INDEX hentropy_observations_by_trial ON hentropy_observations (study_id, number);
CREATE INDEX hentropy_verdicts_by_study ON hentropy_verdicts (study_id);
COMMIT;
