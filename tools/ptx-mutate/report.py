"""The score as Markdown and JSON."""

import collections
import datetime
import json
import subprocess

# Unreached and invalid mutants were not judged and count nowhere.
VERDICTS = ("caught", "harmless", "survived", "unreached", "invalid")


def percentages(counts):
    judged = counts["caught"] + counts["survived"]
    total = judged + counts["harmless"]
    counts["total"] = total
    counts["percent_of_all"] = round(100 * counts["caught"] / total, 2) if total else 100.0
    counts["percent_harmless"] = round(100 * counts["harmless"] / total, 2) if total else 0.0
    counts["percent_of_those_that_matter"] = round(100 * counts["caught"] / judged, 2) if judged else 100.0
    return counts


def summarize(rows):
    """Counts of verdicts: of all, by class, by kernel."""
    summary = {"all": collections.Counter(), "class": {}, "kernel": {}}
    for row in rows:
        summary["all"][row["verdict"]] += 1
        for key in ("class", "kernel"):
            summary[key].setdefault(row[key], collections.Counter())[row["verdict"]] += 1
    fill = lambda counts: percentages({v: counts[v] for v in VERDICTS})  # noqa: E731
    return {
        "all": fill(summary["all"]),
        "class": {k: fill(v) for k, v in sorted(summary["class"].items())},
        "kernel": {k: fill(v) for k, v in sorted(summary["kernel"].items())},
    }


def version(command):
    done = subprocess.run([command, "--version"], capture_output=True, text=True)
    return done.stdout.strip().split("\n")[0]


def facts_of(options, sound, todo):
    tools = [options.ptx_sim, options.ptx_mutate, *filter(None, [options.fmha_compile])]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "seed": options.seed,
        "versions": [version(tool) for tool in tools],
        "kernels": [kernel.name for kernel in sound],
        "mutants": sum(len(kernel.sites) for kernel in sound),
        "sampled": len(todo),
        "sites_by_class": collections.Counter(s["class"] for k in sound for s in k.sites),
    }


def headline(counts):
    return (
        f"{counts['caught']} of {counts['total']} mutants caught ({counts['percent_of_all']} %); "
        f"{counts['harmless']} harmless ({counts['percent_harmless']} %), {counts['survived']} survive; "
        f"{counts['percent_of_those_that_matter']} % of those that matter; {counts['unreached']} unreached, {counts['invalid']} invalid"
    )


def by_sites(summary, sites):
    """The shares that all sites would have if each class went on as its sample: the
    sample holds small classes whole and large ones in part."""
    totals = collections.Counter()
    for name, counts in summary["class"].items():
        judged = counts["total"] + counts["unreached"]
        for verdict in ("caught", "harmless", "survived"):
            totals[verdict] += sites[name] * counts[verdict] / max(judged, 1)
    return {name: round(100 * count / max(sum(totals.values()), 1), 2) for name, count in totals.items()}


def table(title, groups, sites=None):
    lines = [f"| {title} | sites | judged | caught | harmless | survive | unreached | % of all | % that matter |"]
    lines.append("| --- | " + "---: | " * 8)
    for name, c in groups.items():
        count = sites[name] if sites else ""
        cells = [name, count, c["total"], c["caught"], c["harmless"], c["survived"], c["unreached"]]
        cells += [c["percent_of_all"], c["percent_of_those_that_matter"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def catchers(rows):
    counts = collections.Counter(i for row in rows if row["verdict"] == "caught" for i in row["by"])
    return [f"| `{name}` | {count} |" for name, count in counts.most_common()]


def listed(rows, verdict, reason):
    """A line for each mutant of one verdict, with the reason for it."""
    return [
        f"| {r['kernel']} | {r['id']} | `{r['before'].replace('|', chr(92) + '|')[:90]}` | {reason(r)} |"
        for r in rows
        if r["verdict"] == verdict
    ]


def missing_check(row):
    return row.get("missing", "not looked into")


def argument_of(row):
    return " ".join(row["by"])


def markdown(facts, rows, arguments):
    summary = summarize(rows)
    used = {i for r in rows if r["verdict"] == "harmless" for i in r["by"]}
    lines = ["# How many broken kernels the simulator notices", "", headline(summary["all"]) + ".", ""]
    shares = ", ".join(f"{share} % {name}" for name, share in by_sites(summary, facts["sites_by_class"]).items())
    lines += [f"Weighted by the sites of each class: {shares}.", ""]
    lines += [f"Seed {facts['seed']}, {facts['date']}; {'; '.join(facts['versions'])}. {len(rows)} mutants were run of the"]
    lines += [f"{facts['mutants']} that {len(facts['kernels'])} sound kernels have. Written by `score.py`; the README says how.", ""]
    lines += [*table("class", summary["class"], facts["sites_by_class"]), ""]
    lines += [*table("kernel", summary["kernel"]), ""]
    lines += ["## What caught them", "", "A mutant may have several findings.", "", "| finding | mutants |", "| --- | ---: |"]
    lines += [*catchers(rows), "", "## Survivors", "", "| kernel | mutant | instruction | missing check |", "| --- | --- | --- | --- |"]
    lines += [*listed(rows, "survived", missing_check), "", "## Harmless, and why", ""]
    lines += [f"- **{name}**: {text}" for name, text in arguments.items() if name in used]
    lines += ["", "| kernel | mutant | instruction | argument |", "| --- | --- | --- | --- |", *listed(rows, "harmless", argument_of)]
    return "\n".join(lines) + "\n"


def write(path, facts, rows, arguments):
    data = dict(schema_version=1, **facts, score=summarize(rows), percent_by_sites=by_sites(summarize(rows), facts["sites_by_class"]), mutants_run=rows)
    # One mutant a line keeps a new report's difference readable.
    text = json.dumps(data | {"mutants_run": 0}, indent=1)
    body = ",\n".join("  " + json.dumps(row) for row in rows)
    text = text.replace('"mutants_run": 0', f'"mutants_run": [\n{body}\n ]')
    path.with_name(path.name + ".json").write_text(text + "\n")
    path.with_name(path.name + ".md").write_text(markdown(facts, rows, arguments))
