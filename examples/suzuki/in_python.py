"""The same study in Python."""

from laboratory import chromatogram, leaks

import hentropy as he

BOILING_POINT = {"THF": 66, "dioxane": 101, "toluene": 111, "DMF": 153, "ethanol": 78}
PRICE = {
    "PPh3": 0.2, "PCy3": 1.5, "P(o-tol)3": 0.8, "dppf": 1.2, "SPhos": 4.0, "XPhos": 4.5, "RuPhos": 5.0, "AmPhos": 2.5,
}  # fmt: skip

space = he.Space(
    ligand=list(PRICE),
    solvent=list(BOILING_POINT),
    temperature=he.Real(30.0, 110.0, unit="C"),
    loading=he.Levels([0.5, 1.0, 2.0, 5.0], log=True, unit="mol%"),
    time=he.Real(10.0, 120.0, step=10.0, unit="min"),
    where=["temperature <= boiling_point[solvent] - 2"],
    tables={"boiling_point": BOILING_POINT, "price": PRICE},
    same_in_batch=["temperature"],
)
study = he.Study(
    space,
    he.TopK(3, weight=60.0, cap=1.0, scaled=True, outcome="yield", subject_to=["impurity <= 3"]),
    outcomes={"yield": he.Outcome(unit="%"), "impurity": he.Outcome(unit="%", log=True)},
    cost="10 + price[ligand] * loading + 0.02 * time",
    stop=[he.Budget(cost=500.0, unit="euro")],
    first=8,
    hyperparameters="map",
)


def run(plates: int) -> he.Verdict:
    """Run a number of plates of four, or until the budget is spent."""
    for _ in range(plates):
        if study.stopped:
            break
        for trial in study.ask_many(4):
            if leaks(trial.params["temperature"]):
                study.tell(trial, failed="the seal leaked")
            else:
                study.tell(trial, chromatogram(**trial.params))
    return study.decide()


if __name__ == "__main__":
    print(run(plates=6))
    print(f"spent {study.spent:.0f} of 500 euro on {len(study.records)} experiments")
