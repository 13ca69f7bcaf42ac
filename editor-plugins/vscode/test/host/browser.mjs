/** Browser automation: starts the in-host tests, and uses the extension like a user. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";

const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
QUIET.push("--disable-background-networking", "--disable-component-update", "--disable-sync");
// The whole run of the in-host tests, on a busy machine.
const PATIENCE = 240_000; // ms

export function openBrowser(chromium, executablePath) {
  return chromium.launch({ executablePath, args: QUIET });
}

/** Run the tests, print their output, and resolve with true if all passed. */
export async function runTests(browser, base, extension, folder) {
  const page = await browser.newPage();
  const remote = `vscode-remote://${new URL(base).host}${extension}`;
  let done;
  const ended = new Promise((resolve) => (done = resolve));
  await page.exposeFunction("codeAutomationLog", (_, [line]) => {
    if (/^(not )?ok |^ {2}|^#/.test(String(line))) {
      console.log(String(line));
    }
  });
  await page.exposeFunction("codeAutomationExit", (code) => done(code === 0));
  const payload = [
    ["extensionDevelopmentPath", remote],
    ["extensionTestsPath", `${remote}/out/test/host/index.js`],
    ["skipWelcome", "true"],
  ];
  const url = new URL(base);
  url.searchParams.set("folder", folder);
  url.searchParams.set("payload", JSON.stringify(payload));
  await page.goto(url.href);
  const timer = setTimeout(() => done(false), PATIENCE);
  const passed = await ended;
  clearTimeout(timer);
  await page.close();
  return passed;
}

/** Open a file, check the view and the page, take screenshots, rate, put away and forget the `remembered` memory. */
export async function useIt(browser, base, folder, file, remembered, pictures) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 640 } });
  page.setDefaultTimeout(90_000);
  const began = Date.now();
  await page.goto(`${base}/?folder=${encodeURIComponent(folder)}`);
  try {
    await openInExplorer(page, file);
    await page.locator('.action-label[aria-label="hunchd"]').first().click();
    await page.locator(".pane-body .monaco-list-row", { hasText: "Likely next" }).waitFor();
  } catch (error) {
    await page.screenshot({ path: join(pictures ?? ".", "failed.png") });
    throw error;
  }
  console.log(
    `ok the context of ${file} is in the view, ${((Date.now() - began) / 1000).toFixed(1)} s after the page was asked for`,
  );
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    await page.locator(".statusbar .codicon-lightbulb-sparkle").waitFor();
    const folded = page.locator(`.pane-body .monaco-list-row[aria-level="1"]`, { hasText: "Background" });
    await folded.click();
    const pane = await page.locator(".part.sidebar").boundingBox();
    const edge = pane.x + pane.width;
    await page.mouse.move(edge, 400);
    await page.waitForTimeout(500); // dragging an edge needs a moment
    await page.mouse.down();
    await page.mouse.move(edge + 90, 400, { steps: 5 });
    await page.mouse.up();
    await page.locator(".monaco-editor .view-lines").first().click();
    await page.waitForTimeout(4_000); // icons and colours load late
    await page.screenshot({ path: join(pictures, "view.png") });
    await page.locator(".pane-body .monaco-list-row").nth(3).hover();
    await page.waitForTimeout(2_500);
    await page.screenshot({ path: join(pictures, "hover.png") });
    await page.keyboard.press("F1");
    await page.keyboard.type("hunchd: Related Files");
    await page.waitForTimeout(800);
    await page.keyboard.press("Enter");
    await page.locator(".quick-input-list .monaco-list-row").first().waitFor();
    await page.waitForTimeout(800);
    await page.screenshot({ path: join(pictures, "related.png") });
    await page.keyboard.press("Escape");
  }
  try {
    await rateAndPutAway(page, remembered);
    await openThePage(page, remembered, pictures);
    await forget(page, remembered);
  } catch (error) {
    await page.screenshot({ path: join(pictures ?? ".", "failed.png") });
    throw error;
  }
  await page.close();
}

async function rateAndPutAway(page, remembered) {
  const row = page.locator(".pane-body .monaco-list-row", { hasText: remembered });
  // While the repository is being indexed, rows move under the pointer.
  await page.locator(".statusbar .codicon-lightbulb-sparkle").waitFor();
  await page.waitForTimeout(3_000);
  await row.hover();
  await row.locator(".codicon-thumbsup").click();
  await row.getByText("👍").waitFor();
  console.log("ok a thumb that was given is shown");
  await row.hover();
  await row.locator(".codicon-circle-slash").click();
  await row.waitFor({ state: "detached" });
  const bell = page.locator(".statusbar .codicon-bell-dot"); // a toast hides itself, depending on the version
  const undo = page.locator(".notifications-toasts, .notifications-center").getByText("Undo", { exact: true });
  await undo.or(bell).first().waitFor();
  if (!(await undo.first().isVisible())) {
    await bell.click();
  }
  await undo.first().click();
  await row.waitFor();
  console.log("ok what was put away is gone from the view, and back after Undo");
}

/** Open the page of `hunch ui` in the editor, follow its links, and see what was remembered. */
async function openThePage(page, remembered, pictures) {
  const refused = [];
  page.on(
    "console",
    (told) => told.type() === "error" && /hunch|Content Security/.test(told.text()) && refused.push(told.text()),
  );
  await page
    .locator('.pane-header a.action-label[aria-label="Open Page"], a.action-label.codicon-browser')
    .first()
    .click();
  const frame = page.frameLocator("iframe.webview.ready").frameLocator("iframe");
  await frame.getByRole("heading", { name: "Now", level: 1 }).waitFor();
  await frame.locator(".line").first().waitFor();
  await frame.getByRole("link", { name: "Knowledge", exact: true }).click();
  await frame.locator(".result", { hasText: remembered }).waitFor();
  if (pictures) {
    await page.screenshot({ path: join(pictures, "page.png") });
  }
  await frame.getByRole("button", { name: "Back" }).click();
  await frame.getByRole("heading", { name: "Now", level: 1 }).waitFor();
  if (refused.length > 0) {
    throw new Error(`the page broke its policy: ${refused.join("; ")}`);
  }
  console.log("ok the page opens in the editor, and its views show what is known");
}

async function forget(page, remembered) {
  const row = page.locator(".pane-body .monaco-list-row", { hasText: remembered });
  await row.click({ button: "right" });
  await page.locator(".monaco-menu").getByText("Forget…").click();
  await page.locator(".monaco-dialog-box").getByText("Forget", { exact: true }).click();
  await row.waitFor({ state: "detached" });
  console.log("ok what was forgotten is gone from the view");
}

async function openInExplorer(page, file) {
  const parts = file.split("/");
  for (const [depth, name] of parts.entries()) {
    const row = page
      .locator(`.explorer-folders-view .monaco-list-row[aria-level="${depth + 1}"]`, {
        has: page.locator(`.monaco-highlighted-label:text-is("${name}")`),
      })
      .first();
    await row.waitFor();
    if (depth === parts.length - 1) {
      await row.dblclick();
    }
    // A click while the tree is rendering may be lost, and a second one collapses it again.
    while (depth < parts.length - 1 && (await row.getAttribute("aria-expanded")) === "false") {
      await row.click();
      await page.waitForTimeout(700);
    }
  }
  await page.locator(".monaco-editor .view-lines").first().waitFor();
}
