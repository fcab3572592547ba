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
	note TEXT NOT NULL, cost DOUBLE,
	PRIMARY KEY (id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_observations" VALUES(1,1,0,1.79484673310251498226e+09,'me@here','complete',1.25,0.1,'',2.0);
INSERT INTO "hentropy_observations" VALUES(2,1,0,1.79484673311578345296e+09,'me@here','complete',1.5,0.2,'',2.0);
INSERT INTO "hentropy_observations" VALUES(3,1,1,1.7948467331273059845e+09,'me@here','failed',NULL,NULL,'clogged',NULL);
INSERT INTO "hentropy_observations" VALUES(4,1,2,1.79484673313934731475e+09,'me@here','complete',3.33333333333333314829e-01,NULL,'warm',NULL);
INSERT INTO "hentropy_observations" VALUES(5,1,4,1.79484673315251636507e+09,'me@here','complete',7.0,NULL,'',NULL);
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
INSERT INTO "hentropy_studies" VALUES(1,'inks','{"version": 1, "name": "inks", "seed": 0, "first": 4, "space": {"x": {"type": "real", "low": 0.0, "high": 1.0, "log": false, "step": null, "unit": ""}, "grade": {"type": "choice", "options": ["a", "b"], "descriptors": null}}, "where": [], "tables": {}, "same_in_batch": [], "pool": null, "decide_on": null, "decision": {"name": "maximize"}, "cost": {"of": "told", "unit": "", "price": null}, "model": {"hyperparameters": "auto"}, "solver": {"max_seconds": null, "max_memory": null}, "stop": {"trials": null, "seconds": null, "gain_below": null, "patience": 1, "cost": null, "spend": null, "worth_its_cost": false, "when_exhausted": true}, "own": []}','{"hentropy": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu", "gpytorch": "1.15.2", "botorch": "0.18.1", "numpy": "2.4.6", "scipy": "1.17.1"}',1.7948467330173754692e+09,6);
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
	revision INTEGER NOT NULL, losses INTEGER DEFAULT '0' NOT NULL, expected_cost DOUBLE, cost DOUBLE,
	PRIMARY KEY (study_id, number),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_trials" VALUES(1,0,'{"x": 0.47510719299316406, "grade": "a"}','complete',1.5,0.2,NULL,NULL,NULL,'first','',1.79484673306569981576e+09,1.79484673311462473868e+09,NULL,NULL,0,3,0,NULL,2.0);
INSERT INTO "hentropy_trials" VALUES(1,1,'{"x": 0.5787633396685123, "grade": "b"}','failed',NULL,NULL,NULL,NULL,NULL,'first','clogged',1.79484673306569981576e+09,1.7948467331262514591e+09,NULL,NULL,0,4,0,NULL,NULL);
INSERT INTO "hentropy_trials" VALUES(1,2,'{"x": 0.9506698828190565, "grade": "a"}','complete',3.33333333333333314829e-01,NULL,NULL,NULL,NULL,'first','warm',1.79484673306569981576e+09,1.79484673313827824588e+09,NULL,NULL,0,5,0,NULL,NULL);
INSERT INTO "hentropy_trials" VALUES(1,3,'{"x": 0.12045786902308464, "grade": "b"}','running',NULL,NULL,NULL,NULL,NULL,'first','',1.79484673306569981576e+09,NULL,NULL,NULL,0,1,0,NULL,NULL);
INSERT INTO "hentropy_trials" VALUES(1,4,'{"x": 0.25, "grade": "b"}','complete',7.0,NULL,NULL,NULL,NULL,'attached','',1.79484673315138339999e+09,1.79484673315138339999e+09,NULL,NULL,0,6,0,NULL,NULL);
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
INSERT INTO "hentropy_turns" VALUES(1,1,NULL,1794846733.0435,0,1);
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
INSERT INTO "hentropy_verdicts" VALUES(1,1,1.79484673380218338967e+09,'Maximize()',3,-6.98974114448943328881e+00,0.0,'[{"x": 0.2387857377286479, "grade": "b", "mean": 6.989741144489432, "sd": 0.26352007432396984}]');
CREATE TABLE hentropy_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT hentropy_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hentropy_version" VALUES('0004');
CREATE INDEX hentropy_trials_by_revision ON hentropy_trials (study_id, revision);
CREATE INDEX hentropy_observations_by_trial ON hentropy_observations (study_id, number);
CREATE INDEX hentropy_verdicts_by_study ON hentropy_verdicts (study_id);
COMMIT;
