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
INSERT INTO "hentropy_observations" VALUES(1,1,0,1.79486685212131261831e+09,'me@here','complete','warm',NULL,'{"yield": {"value": 80.0, "std_error": null}, "impurity": {"value": 2.5, "std_error": 0.1}}');
INSERT INTO "hentropy_observations" VALUES(2,1,1,1.79486685214426469796e+09,'me@here','complete','',NULL,'{"impurity": {"value": 2.0, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(3,1,1,1.79486685217315816882e+09,'me@here','complete','',NULL,'{"impurity": {"value": 2.0, "std_error": null}, "yield": {"value": 0.3333333333333333, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(4,1,3,1.79486685220675086971e+09,'me@here','complete','',NULL,'{"yield": {"value": 70.0, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(5,1,2,1.79486685221729516982e+09,'me@here','failed','clogged',NULL,'{}');
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
INSERT INTO "hentropy_studies" VALUES(1,'mixtures','{"version": 1, "name": "mixtures", "seed": 0, "first": 3, "space": {"x": {"type": "real", "low": 0.0, "high": 1.0, "log": false, "step": null, "unit": ""}}, "where": [], "tables": {}, "same_in_batch": [], "pool": null, "decide_on": null, "outcomes": {"yield": {"unit": "%", "log": false, "kind": "number", "grades": [], "at_least": null, "computed": null}, "impurity": {"unit": "%", "log": false, "kind": "number", "grades": [], "at_least": null, "computed": null}}, "decision": {"name": "maximize", "outcome": "yield", "subject_to": ["impurity <= 3"], "fallback": 0.0}, "cost": {"of": 2.0, "unit": "", "price": null}, "model": {"hyperparameters": "map", "failures": "learn", "at_least": 0.5}, "solver": {"max_seconds": null, "max_memory": null}, "stop": {"trials": null, "seconds": null, "gain_below": null, "patience": 1, "cost": null, "spend": null, "worth_its_cost": false, "when_exhausted": true}, "own": []}','{"hentropy": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu", "gpytorch": "1.15.2", "botorch": "0.18.1", "numpy": "2.4.6", "scipy": "1.17.1"}',1.79486685196908187867e+09,6);
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
	revision INTEGER NOT NULL, losses INTEGER DEFAULT '0' NOT NULL, expected_cost DOUBLE, cost DOUBLE, measurements JSON DEFAULT '{}' NOT NULL,
	PRIMARY KEY (study_id, number),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_trials" VALUES(1,0,'{"x": 0.47510719299316406}','complete',NULL,NULL,NULL,'first','warm',1.79486685205169486999e+09,1.79486685211894416813e+09,NULL,NULL,0,2,0,2.0,NULL,'{"yield": {"value": 80.0, "std_error": null}, "impurity": {"value": 2.5, "std_error": 0.1}}');
INSERT INTO "hentropy_trials" VALUES(1,1,'{"x": 0.5601231446489692}','complete',NULL,NULL,NULL,'first','',1.79486685205169486999e+09,1.7948668521720383167e+09,NULL,NULL,0,4,0,2.0,NULL,'{"impurity": {"value": 2.0, "std_error": null}, "yield": {"value": 0.3333333333333333, "std_error": null}}');
INSERT INTO "hentropy_trials" VALUES(1,2,'{"x": 0.9877832401543856}','failed',NULL,NULL,NULL,'first','clogged',1.79486685205169486999e+09,1.79486685221637368202e+09,NULL,NULL,0,6,0,2.0,NULL,'{}');
INSERT INTO "hentropy_trials" VALUES(1,3,'{"x": 0.25}','complete',NULL,NULL,NULL,'attached','',1.79486685219345664982e+09,1.79486685219345664982e+09,NULL,NULL,0,5,0,NULL,NULL,'{"yield": {"value": 70.0, "std_error": null}}');
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
INSERT INTO "hentropy_turns" VALUES(1,1,NULL,1.79486685202096414573e+09,0,1);
CREATE TABLE hentropy_verdicts (
	id INTEGER NOT NULL,
	study_id INTEGER NOT NULL,
	at DOUBLE NOT NULL,
	decision TEXT NOT NULL,
	observations INTEGER NOT NULL,
	expected_loss DOUBLE NOT NULL,
	std_error DOUBLE NOT NULL,
	action JSON NOT NULL, headline TEXT DEFAULT '' NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_verdicts" VALUES(1,1,1.79486685482155847552e+09,'Maximize(outcome=''yield'', subject_to=(''impurity <= 3'',), fallback=0.0)',3,-6.69361921772911472316e+01,0.0,'[{"x": 0.4577589437605938, "yield": 85.03106120186263, "yield sd": 12.3000733651367, "impurity": 2.478561267876416, "impurity sd": 0.1138477501913124, "limits hold": 0.9999976766855899, "chance of success": 0.7923145664266191}]','The best design: yield 85 ± 12 %, impurity <= 3 with more than 99 % probability. It succeeds with 79 % probability.');
CREATE TABLE hentropy_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT hentropy_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hentropy_version" VALUES('0005');
CREATE INDEX hentropy_trials_by_revision ON hentropy_trials (study_id, revision);
CREATE INDEX hentropy_observations_by_trial ON hentropy_observations (study_id, number);
CREATE INDEX hentropy_verdicts_by_study ON hentropy_verdicts (study_id);
COMMIT;
