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
INSERT INTO "hentropy_observations" VALUES(1,1,0,1.79512608292477798465e+09,'me@here','complete','',2.0,'{"value": {"value": 1.25, "std_error": 0.1}}');
INSERT INTO "hentropy_observations" VALUES(2,1,0,1.7951260829435696602e+09,'me@here','complete','',2.0,'{"value": {"value": 1.5, "std_error": 0.2}}');
INSERT INTO "hentropy_observations" VALUES(3,1,1,1.7951260829594130516e+09,'me@here','failed','clogged',NULL,'{}');
INSERT INTO "hentropy_observations" VALUES(4,1,2,1795126082.9717,'me@here','complete','warm',2.0,'{"value": {"value": 0.3333333333333333, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(5,1,4,1.79512608299223852155e+09,'me@here','complete','',NULL,'{"value": {"value": 7.0, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(6,1,5,1.79512608300797319414e+09,'me@here','complete','',NULL,'{"value": {"value": 2.0, "std_error": null}}');
INSERT INTO "hentropy_observations" VALUES(7,1,6,1.79512608589989113806e+09,'me@here','complete','',2.0,'{"value": {"value": 6.5, "std_error": null}}');
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
INSERT INTO "hentropy_studies" VALUES(1,'inks','{"version": 1, "name": "inks", "seed": 0, "first": 4, "space": {"x": {"type": "real", "low": 0.0, "high": 1.0, "log": false, "step": null, "unit": ""}}, "where": [], "tables": {}, "same_in_batch": [], "pool": null, "decide_on": null, "outcomes": {}, "assays": {}, "decision": {"name": "maximize", "outcome": null, "subject_to": [], "fallback": null, "among": null}, "cost": {"of": "told", "unit": "", "price": null}, "model": {"hyperparameters": "auto", "python": null, "failures": "learn", "at_least": 0.5}, "solver": {"max_seconds": null, "max_memory": null}, "stop": {"trials": null, "seconds": null, "gain_below": null, "patience": 1, "cost": null, "spend": null, "worth_its_cost": false, "when_exhausted": true}, "own": []}','{"hentropy": "0.3.0.dev0", "python": "3.11.7", "torch": "2.13.0+cpu", "gpytorch": "1.15.2", "botorch": "0.18.1", "numpy": "2.4.6", "scipy": "1.17.1"}',1.7951260785822203159e+09,9);
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
	revision INTEGER NOT NULL, losses INTEGER DEFAULT '0' NOT NULL, expected_cost DOUBLE, cost DOUBLE, measurements JSON DEFAULT '{}' NOT NULL, measures JSON DEFAULT '[]' NOT NULL, predictions JSON DEFAULT '{}' NOT NULL,
	PRIMARY KEY (study_id, number),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_trials" VALUES(1,0,'{"x": 0.47510719299316406}','complete',NULL,NULL,NULL,'first','',1.79512608290335917479e+09,1.79512608294290590283e+09,NULL,NULL,0,3,0,NULL,2.0,'{"value": {"value": 1.5, "std_error": 0.2}}','[]','{}');
INSERT INTO "hentropy_trials" VALUES(1,1,'{"x": 0.5601231446489692}','failed',NULL,NULL,NULL,'first','clogged',1.79512608290335917479e+09,1.79512608295882773396e+09,NULL,NULL,0,4,0,NULL,NULL,'{}','[]','{}');
INSERT INTO "hentropy_trials" VALUES(1,2,'{"x": 0.9877832401543856}','complete',NULL,NULL,NULL,'first','warm',1.79512608290335917479e+09,1.79512608297093844409e+09,NULL,NULL,0,5,0,NULL,2.0,'{"value": {"value": 0.3333333333333333, "std_error": null}}','[]','{}');
INSERT INTO "hentropy_trials" VALUES(1,3,'{"x": 0.039489383809268475}','running',NULL,NULL,NULL,'first','',1.79512608290335917479e+09,NULL,NULL,NULL,0,1,0,NULL,NULL,'{}','[]','{}');
INSERT INTO "hentropy_trials" VALUES(1,4,'{"x": 0.25}','complete',NULL,NULL,NULL,'attached','',1.79512608299131417276e+09,1.79512608299131417276e+09,NULL,NULL,0,6,0,NULL,NULL,'{"value": {"value": 7.0, "std_error": null}}','[]','{}');
INSERT INTO "hentropy_trials" VALUES(1,5,'{"x": 0.75}','complete',NULL,NULL,NULL,'attached','',1.79512608300749206546e+09,1.79512608300749206546e+09,NULL,NULL,0,7,0,NULL,NULL,'{"value": {"value": 2.0, "std_error": null}}','[]','{}');
INSERT INTO "hentropy_trials" VALUES(1,6,'{"x": 0.17304582614451647}','complete',1.534561568789269137e-01,1.05141650015947163421e-02,-5.64931147548761636301e+00,'proposed','',1.79512608587483310702e+09,1.79512608589917421341e+09,NULL,NULL,0,9,0,NULL,2.0,'{"value": {"value": 6.5, "std_error": null}}','[]','{"value": {"mean": 6.555781972593227, "sd": 2.212843869084619, "quantiles": [-1.9391645801107447, -0.5739514820020619, 0.1226315118821637, 1.2043375609910627, 2.2107848089637647, 3.482856245881938, 4.385797803189439, 5.052972291830603, 5.533459743256449, 5.893719066241392, 6.183923298068416, 6.432885587851805, 6.657140879562988, 6.867038086130126, 7.069859973922828, 7.271495261954836, 7.477516851470385, 7.69414654774341, 7.929542810431075, 8.196199947369646, 8.516720073786459, 8.942023283257495, 9.640352593045357, 10.33476301138009, 11.244824029829168, 11.905045755372306, 13.287313941362996], "widened": 1.0, "log": false, "families": {"rough": [-2.438446437308711, 0.41886501292465517, 3.312277843861743, 6.305202234469689, 7.745334512918445, 9.835394839735152, 13.056435057784665], "smooth": [0.30919226368502395, 3.3687124599684237, 5.6935614719651095, 7.440379800121647, 8.879681236938655, 10.601898022412641, 13.46671835134423]}}}');
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
INSERT INTO "hentropy_turns" VALUES(1,2,NULL,1.79512608302309131617e+09,0,2);
CREATE TABLE hentropy_verdicts (
	id INTEGER NOT NULL,
	study_id INTEGER NOT NULL,
	at DOUBLE NOT NULL,
	decision TEXT NOT NULL,
	observations INTEGER NOT NULL,
	expected_loss DOUBLE NOT NULL,
	std_error DOUBLE NOT NULL,
	action JSON NOT NULL, headline TEXT DEFAULT '' NOT NULL, worth TEXT DEFAULT '' NOT NULL, failed INTEGER DEFAULT '0' NOT NULL, comparison JSON,
	PRIMARY KEY (id),
	FOREIGN KEY(study_id) REFERENCES hentropy_studies (id) ON DELETE CASCADE
);
INSERT INTO "hentropy_verdicts" VALUES(1,1,1.79512608675307703013e+09,'Maximize()',5,-6.0085637624504091292e+00,0.0,'[{"x": 0.25, "mean": 6.959078548225949, "sd": 0.1992197935803173, "chance of success": 0.8480480047386781}]','The best design: value 6.96 ± 0.20. A run there succeeds with 85 % probability.','',1,'{"sentence": "Measured in trial 4: 7. A design that was never run should be better by 0.054 on average, but is better with only 62 % probability: too uncertain to recommend before a run.", "trials": [4], "values": {"value": 7.0}, "best": null, "alternative": {"row": {"x": 0.2329596496826735, "mean": 7.012826509720916, "sd": 0.31539109119299363, "chance of success": 0.8494029129956135}, "trials": [], "values": {}, "advantage": -0.0537479614949668, "spread": 0.2708699269401613, "chance": 0.38308368391909625}, "forgone": 0.054616111850418037}');
CREATE TABLE hentropy_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT hentropy_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hentropy_version" VALUES('0008');
CREATE INDEX hentropy_trials_by_revision ON hentropy_trials (study_id, revision);
CREATE INDEX hentropy_observations_by_trial ON hentropy_observations (study_id, number);
CREATE INDEX hentropy_verdicts_by_study ON hentropy_verdicts (study_id);
COMMIT;
