"""The page in a real browser: no errors, nothing loaded, sorts, prints, accessible; hostile text stays text."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from race_report.render.html import page
from race_report.validation import validate_file, validate_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Program = Callable[[str], str]

HOSTILE = (
    "<script>document.title='run'</script>",
    '"><img src=x onerror="document.title=1">',
    "</title></style></script><h1>x",
    "{{ 7 * 7 }}{% for x in y %}${7*7}",
    "javascript:alert(1)",
    "a\u202eb\u200bc\x07d",
    "&lt;b&gt; &amp; 'q'",
    "<!-- --> ]]> <svg/onload=x>",
)


@pytest.fixture(scope="module")
def browser(program: Program) -> Iterator[Any]:
    chromium = program("chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def axe(program: Program, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the script of axe-core, from the package registry."""
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [program("npm"), "install", "--silent", "--no-audit", "--no-fund", "axe-core@4"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        message = f"npm cannot install axe-core: {done.stderr[-300:]}"
        if os.environ.get("RACE_TEST_EVERYTHING"):
            pytest.fail(message)
        pytest.skip(message)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


def opened(browser: Any, path: Path, width: int = 1280) -> tuple[Any, list[str]]:
    """Open a file; whatever the console says and every address that is asked for is noted."""
    tab, said = browser.new_page(viewport={"width": width, "height": 900}), []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else said.append(request.url))
    tab.goto(path.as_uri())
    return tab, said


@pytest.mark.parametrize("names", [("worked-example",), ("kimi-k1.5", "verl-fully-async-128", "constructed-declared")])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_loads_nothing_fits_and_passes_axe(
    browser: Any, axe: str, documents: Path, tmp_path: Path, names: tuple[str, ...], width: int
) -> None:
    path = tmp_path / "page.html"
    path.write_text(page([validate_file(str(documents / f"{name}.json")) for name in names]), "utf-8")
    tab, said = opened(browser, path, width)
    for ledger in tab.locator("details.ledger summary").all():
        ledger.click()
    assert said == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    tab.evaluate(axe)
    found = tab.evaluate("axe.run()")["violations"]
    assert [(one["impact"], one["id"]) for one in found] == []


def test_a_ledger_sorts_by_numbers_and_words_and_unknown_stays_last(
    browser: Any, documents: Path, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(page([validate_file(str(documents / "constructed-closed-judge.json"))]), "utf-8")
    tab, said = opened(browser, path)
    tab.locator("details.ledger summary").click()
    column = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[4].dataset.value)"
    for order in ("ascending", "descending"):
        tab.get_by_role("button", name="FLOPs").click()
        values = tab.evaluate(column)
        numbers = [float(value) for value in values if value]
        assert len(numbers) > 2
        assert "" in values
        assert numbers == sorted(numbers, reverse=order == "descending")
        assert values[len(numbers) :] == [""] * (len(values) - len(numbers))
        assert tab.locator("[aria-sort]").count() == 1
        assert tab.locator("[aria-sort]").get_attribute("aria-sort") == order
    tab.get_by_role("button", name="Component").click()
    components = tab.evaluate("[...document.querySelectorAll('tbody th')].map(cell => cell.textContent)")
    assert components == sorted(components)
    assert said == []


def test_a_page_prints_with_its_ledger_open(browser: Any, program: Program, documents: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page([validate_file(str(documents / "worked-example.json"))]), "utf-8")
    tab, _ = opened(browser, path)
    assert not tab.locator("details.ledger").evaluate("element => element.open")
    (tmp_path / "page.pdf").write_bytes(tab.pdf(prefer_css_page_size=True))
    command = [program("pdftotext"), "-layout", "page.pdf", "-"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    printed = done.stdout.decode("utf-8")
    assert "learning 35.3 %" in printed
    assert "81,920,000" in printed


def test_a_page_can_be_read_without_its_script(browser: Any, documents: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page([validate_file(str(documents / "worked-example.json"))]), "utf-8")
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto(path.as_uri())
    tab.locator("details.ledger summary").click()
    assert tab.locator("tbody tr").count() == 5
    assert tab.locator("tbody tr").first.is_visible()
    assert tab.get_by_role("button").count() == 0


def test_hostile_text_is_shown_and_does_nothing(browser: Any, example: dict[str, Any], tmp_path: Path) -> None:
    for at, words in enumerate(HOSTILE):
        example["subject"]["title"] = words
        example["models"][0]["name"] = words
        example["runs"][0]["note"] = words
        example["runs"][0]["algorithm"]["name"] = words
        example["runs"][0]["ledger"][0]["note"] = words
        example["runs"][0]["results"][0]["metric"] = words
        example["not_reported"][0]["reason"] = words
        example["study"]["other_compute"][0]["what"] = words
        path = tmp_path / f"{at}.html"
        path.write_text(page([validate_value(example)]), "utf-8")
        tab, said = opened(browser, path)
        visible = words.replace("\u202e", "\\u202e").replace("\x07", "\\u0007")
        assert said == []
        assert tab.title() == visible
        assert tab.locator("h1").text_content() == visible
        assert tab.locator("script").count() == 1
        assert tab.locator("img").count() == 0
        assert visible in tab.locator("tbody").first.text_content()
        tab.close()
