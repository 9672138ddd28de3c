import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { escapeHtml } from './html.ts'
import { DARK_COLOURS, LIGHT_COLOURS, PAGE_ICON } from './page-style.ts'
import { type Encoding, pack, type ServeAsset, sharedAsset } from './shared-asset.ts'

/** The path of the page about the API. The page's script is below this path. */
export const DOCS_PATH = '/docs'
const PAGE_PATH = `${DOCS_PATH}/`
const SCRIPT_PATH = `${DOCS_PATH}/js/scalar.js`
/** The page and the document change with each release, so clients must revalidate them each time. */
const ASK_EACH_TIME = 'no-cache'
/** The URL of the script contains the version of the library, so its content never changes. */
const KEEP_FOREVER = 'public, max-age=31536000, immutable'

/** The handlers that a service registers at `/openapi.json`, `/docs` and `/docs/js/scalar.js`. */
export interface DocumentPages {
  readonly document: ServeAsset
  readonly page: ServeAsset
  readonly script: ServeAsset
}

/**
 * Creates the handlers of the API document and of its page. The route of `/docs` must also accept a trailing slash.
 * @param title the name of the API
 * @param read returns the text of the OpenAPI document; called once
 */
export function createDocumentPages(title: string, read: () => Promise<Buffer>): DocumentPages {
  return { document: documentAsset(read), page: pageWithRedirect(title), script: scriptAsset() }
}

function documentAsset(read: () => Promise<Buffer>): ServeAsset {
  const json = runOnce(read)
  return sharedAsset({
    type: 'application/json; charset=utf-8',
    cacheControl: ASK_EACH_TIME,
    load: async (encoding) => pack(await json(), encoding),
  })
}

/** Serves the page at `/docs/`, and redirects `/docs` to it, because the page's script has a relative URL. */
function pageWithRedirect(title: string): ServeAsset {
  const servePage = pageAsset(title)
  return async (request, reply) => (isPage(request.url) ? servePage(request, reply) : reply.redirect(PAGE_PATH, 301))
}

function scriptAsset(): ServeAsset {
  return sharedAsset({
    type: 'application/javascript; charset=utf-8',
    cacheControl: KEEP_FOREVER,
    load: loadScript,
  })
}

function pageAsset(title: string): ServeAsset {
  const open = runOnce(async () => {
    const script = `${SCRIPT_PATH.slice(PAGE_PATH.length)}?v=${await readLibraryVersion()}`
    const { html, policy } = renderDocumentPage({ title, script, document: '/openapi.json' })
    return sharedAsset({
      type: 'text/html; charset=utf-8',
      cacheControl: ASK_EACH_TIME,
      headers: { 'content-security-policy': policy, 'referrer-policy': 'no-referrer' },
      load: (encoding) => pack(Buffer.from(html), encoding),
    })
  })
  return async (request, reply) => (await open())(request, reply)
}

const Package = z.object({ version: z.string() })

/** Returns the version of the library that shows the document, without loading the library. */
async function readLibraryVersion(): Promise<string> {
  const file = new URL('../package.json', import.meta.resolve('@scalar/fastify-api-reference'))
  return Package.parse(JSON.parse(await readFile(file, 'utf8'))).version
}

function isPage(url: string): boolean {
  return url.split('?', 1)[0]?.endsWith('/') === true
}

/** Reads the OpenAPI document of a service, and removes its indentation. */
export async function readApiDocument(file: URL): Promise<Buffer> {
  return Buffer.from(JSON.stringify(JSON.parse(await readFile(file, 'utf8'))))
}

const PROGRAM_MS = 30_000
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** Returns the script of the library. A separate process loads it. */
async function loadScript(encoding: Encoding): Promise<Buffer> {
  const { execFile } = await import('node:child_process')
  const cache = getCompileCacheDir()
  const program = join(import.meta.dirname, 'print-page-script.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, encoding], {
    encoding: 'buffer',
    // Do not pass on the settings of the service, because they include secrets and the library does not need them.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
    maxBuffer: OUTPUT_BYTES_MAX,
    timeout: PROGRAM_MS,
  })
  return stdout
}

/** Runs the work once for all callers. Runs it again only if it has failed. */
function runOnce<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    if (result === undefined) {
      result = work()
      result.catch(() => {
        result = undefined
      })
    }
    return result
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** `undefined` if clients may not read the API document. */
    readonly documentPages: DocumentPages | undefined
  }
}

interface DocumentPage {
  readonly html: string
  readonly policy: string
}

interface DocumentPageOptions {
  readonly title: string
  /** The URL of the library's script, relative to the page. */
  readonly script: string
  readonly document: string
}

const CONFIGURATION = {
  // These features of the library would call foreign hosts: fonts, telemetry, the client, the developer tools, the agent and MCP.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  // API keys and tokens that a reader types stay only in memory. In browser storage, the next user of the browser could read
  // them.
  persistAuth: false,
  operationTitleSource: 'summary',
}

/**
 * The colours of the library have a contrast of only 3 to 4.4 in many places. These colours have 4.5 or more on all backgrounds
 * of the library. The library selects light or dark mode by a class.
 */
const COLOURS = `
.light-mode.light-mode {
  --scalar-color-2: #565656; --scalar-color-3: #646464; --scalar-color-green: #00694a; --scalar-color-red: #b3141c;
  --scalar-color-yellow: #795700; --scalar-color-orange: #964400; --scalar-color-blue: #075fae; --scalar-color-purple: #6733b9;
  --scalar-color-1: ${LIGHT_COLOURS.text}; --scalar-color-accent: ${LIGHT_COLOURS.accent};
  --scalar-border-color: ${LIGHT_COLOURS.line}; --scalar-background-1: ${LIGHT_COLOURS.page}; --scalar-background-2: ${LIGHT_COLOURS.card};
  --scalar-background-3: ${LIGHT_COLOURS.line}; --scalar-sidebar-background-1: ${LIGHT_COLOURS.page};
  --scalar-button-1: ${LIGHT_COLOURS.accent}; --scalar-button-1-hover: ${LIGHT_COLOURS.text}; --scalar-button-1-color: ${LIGHT_COLOURS.card};
}
.dark-mode.dark-mode {
  --scalar-color-2: #b4b4b4; --scalar-color-3: #a0a0a0; --scalar-color-red: #ff7070;
  --scalar-color-1: ${DARK_COLOURS.text}; --scalar-color-accent: ${DARK_COLOURS.accent};
  --scalar-border-color: ${DARK_COLOURS.line}; --scalar-background-1: ${DARK_COLOURS.page}; --scalar-background-2: ${DARK_COLOURS.card};
  --scalar-background-3: ${DARK_COLOURS.line}; --scalar-sidebar-background-1: ${DARK_COLOURS.page};
  --scalar-button-1: ${DARK_COLOURS.accent}; --scalar-button-1-hover: ${DARK_COLOURS.text}; --scalar-button-1-color: ${DARK_COLOURS.page};
}`

/** Reserves space for the bar above. In a window of 320 pixels, a button of the library is two pixels too wide. */
const FRAME = `
:root { --scalar-custom-header-height: 2.5rem; }
#app { overflow-x: clip; }
.endpoint .endpoint-method[class] { min-width: 2.75rem; }
body { margin: 0; color: var(--scalar-color-1); background: var(--scalar-background-1); }
.back { position: sticky; top: 0; z-index: 11; box-sizing: border-box; height: 2.5rem; padding: .5rem 1rem;
  font: 1rem/1.5 system-ui, sans-serif; background: var(--scalar-background-1); }
.back a { color: var(--scalar-color-accent); }
.loading, .loading button { padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
.loading button { padding: .25rem .75rem; cursor: pointer; }
#app:not(:empty) ~ .loading { display: none; }`

/** The library shows "Required" for credentials that are often optional, and languages instead of client libraries. */
const INTRODUCTION = `
.introduction-section.introduction-section.introduction-section { padding-top: 2.5rem; }
.introduction-section .badge { margin-bottom: .5rem; }
.scalar-reference-intro-auth :has(> button[id*="disclosure"]) { flex-wrap: wrap; height: auto; max-height: none; }
.scalar-reference-intro-auth button[id*="disclosure"][class] { flex: 1 0 auto; overflow: visible; }
.scalar-reference-intro-auth [data-testid="auth-indicator"], .scalar-reference-intro-auth .required { display: none; }
.scalar-reference-intro-clients, .ascii-art.ascii-art.ascii-art > * { display: none; }`

/** The library fills an empty answer with ASCII art, and cuts off answers and their tabs in narrow windows. */
const ANSWERS = `
.ascii-art.ascii-art::before { content: 'Send the request to see its answer.'; font: 1rem/1.5 system-ui, sans-serif; text-transform: none; }
.response-card.response-card .tab-list { flex-wrap: wrap; }
.response-card.response-card .scalar-card-header { flex-wrap: wrap; justify-content: flex-end; }
.response-card.response-card .scalar-card-header-title { flex: 1 0 auto; max-width: 100%; }
.response-card.response-card pre, .response-card.response-card pre * { white-space: pre-wrap; overflow-wrap: anywhere; }`

/** The library frames an operation that a link leads to, and breaks long request lines below their numbers. */
const SAMPLES = `
section[tabindex="-1"]:focus { outline: none; }
.scalar-app .code-snippet pre.m-0 { width: auto; }
.scalar-app .code-snippet pre.m-0, .scalar-app .code-snippet pre.m-0 * { white-space: pre-wrap; overflow-wrap: anywhere; }
.scalar-app .code-snippet .line { --hang: calc(var(--line-digits) * 1ch + 14px + 2ch); display: block; padding-left: var(--hang);
  text-indent: calc(-1 * var(--hang)); }
.scalar-app .code-snippet .line::before { text-indent: 0; }`

/**
 * In the request dialog, a button that lists all operations covers the URL. A long body pushes "Send" out of the dialog, and long
 * URLs and titles fade out.
 */
const DIALOG = `
.scalar-client .scalar-sidebar-toggle { display: none; }
.scalar-client section, .scalar-client section *, .scalar-client .custom-scroll { min-width: 0; }
.scalar-client .t-app__top-container .m-auto { margin-inline: 0; }
.scalar-client .address-bar-bg-states.address-bar-bg-states { height: auto; min-height: var(--scalar-address-bar-height); }
.scalar-client .scroll-timeline-x.scroll-timeline-x { flex-wrap: wrap; align-items: center; padding: .125rem .5rem; overflow: visible; mask-image: none; }
.scalar-client .scroll-timeline-x * { white-space: normal; overflow-wrap: anywhere; text-align: start; }
.scalar-client .scroll-timeline-x :is(.scalar-button, [data-testid="code-input-disabled"]) { padding: 0; border: 0; }
.scalar-client .context-bar-group:not(:hover, :focus-within) [class].fade-request-section-content { background: none; }`

/** The library cuts off paths, property names and answer descriptions that do not fit on a line. */
const LONG_NAMES = `
.t-doc__header header > span { overflow: hidden; text-overflow: ellipsis; }
.scalar-app :is(.markdown-summary, .property-collapsed-preview, .scalar-card-header-title, .endpoint-path)[class][class] {
  --markdown-clamp: none; overflow: visible; white-space: normal; overflow-wrap: anywhere; }`

/** In a narrow window the library shows its own bar, so the bar of this page does not stay at the top. */
const NARROW = `
@media (max-width: 63.99rem) { :root { --scalar-custom-header-height: 0rem; } .back { position: static; }
  .scalar-client section[aria-label="Response"] { min-height: 100%; }
  .endpoint .endpoint-method[class] { font-size: .7rem; } .endpoint .endpoint-path[class] { margin-left: .5rem; font-size: .7rem; } }
`

const STYLE = [COLOURS, FRAME, INTRODUCTION, ANSWERS, SAMPLES, DIALOG, LONG_NAMES, NARROW].join('')

/**
 * Repairs of elements of the library. The accessibility checker axe reports some of them, and others mislead readers. The library
 * has no settings for them. Each repair is a selector, an attribute, and the new value of the attribute. `null` removes the
 * attribute.
 */
const MENDED: readonly (readonly [string, string, string | null])[] = [
  // Without a label, a screen reader would announce these buttons only as "button", because they show only an icon.
  ['button[class*="copy-button"]', 'aria-label', 'Copy'],
  // Voice control selects a button by its visible text, so the accessible name must contain this text.
  ['button.show-more[aria-label]', 'aria-label', null],
  ['button[data-testid^="response-variant-pic"][aria-label]', 'aria-label', null],
  ['button[role="none"]', 'role', null],
  // The library makes each sample answer a landmark with the same name. They would fill the landmark list of a screen reader, and
  // `main` would be hard to find.
  ['.response-card[role="region"]', 'role', 'group'],
  ['main ~ main, main main', 'role', 'group'],
  // The page behind the request dialog would be a second `main`, and a screen reader could get lost in it.
  ['body:has(.scalar-client--open) .references-rendered', 'inert', ''],
  ['body:not(:has(.scalar-client--open)) .references-rendered[inert]', 'inert', null],
  ['[role="dialog"] > section[aria-label^="Notifications"]', 'aria-label', 'Notifications of the request'],
  // With the role `alert`, a screen reader would interrupt the reader when the button appears.
  ['button[role="alert"]', 'role', null],
  // The keyboard can scroll only elements that can have the focus.
  ['ul.endpoints', 'tabindex', '0'],
  // The only label of these fields is the text next to them. A screen reader does not read it as a label.
  ['.code-input-lite__editor:not([aria-label]):not([aria-labelledby])', 'aria-label', 'Value'],
  ['.cm-content:not([aria-label]):not([aria-labelledby])', 'aria-label', 'Value'],
  ['.scalar-client .cm-scroller', 'tabindex', '0'],
  // ARIA requires `aria-expanded` on a combobox, and the library omits it.
  ['[role="combobox"]:not([aria-expanded])', 'aria-expanded', 'false'],
  // The library suggests a user name, but an API may have no user names.
  ['[data-placeholder="janedoe"]', 'data-placeholder', 'as described above'],
]

const MEND = `
const mend = () => {
  for (const [selector, attribute, value] of ${JSON.stringify(MENDED)}) {
    for (const element of document.querySelectorAll(selector)) {
      if (value === null) element.removeAttribute(attribute)
      else if (element.getAttribute(attribute) !== value) element.setAttribute(attribute, value)
    }
  }
  // The library shows requests in the dark, also on a light page.
  for (const card of document.querySelectorAll('.request-card.dark-mode')) card.classList.remove('dark-mode')
}
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true, attributeFilter: ['class'] })
`

/**
 * Fetches the document before the library does. On an error, the library would only say that a document "api-1" could not be
 * loaded. If the script is missing, its retry reloads the page. In a narrow window, the answer is below the request and out of
 * sight, so the page scrolls to it.
 */
const START = `
const waiting = document.querySelector('.loading')
const show = async () => {
  waiting.textContent = 'Loading the API document …'
  try {
    if (!globalThis.Scalar) throw new Error('Its script has not arrived.')
    const answer = await fetch(url)
    if (!answer.ok) throw new Error('The service answered ' + answer.status + '.')
    Scalar.createApiReference('#app', { ...configuration, content: await answer.json() })
  } catch (error) {
    waiting.textContent = 'The API document could not be loaded. ' + error.message + ' '
    const again = document.createElement('button')
    again.textContent = 'Try again'
    again.onclick = () => (globalThis.Scalar ? show() : location.reload())
    waiting.append(again)
  }
}
document.addEventListener('click', ({ target }) => {
  if (!target.closest('[data-addressbar-action="send"]')) return
  document.querySelector('[role="dialog"] section[aria-label="Response"]')?.scrollIntoView()
})
show()
`

/** Creates the page that shows an API document in a browser. */
function renderDocumentPage({ title, script, document: url }: DocumentPageOptions): DocumentPage {
  const start = `const url = ${inScript(url)}, configuration = ${inScript(CONFIGURATION)}\n${START}${MEND}`
  const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${escapeHtml(title)} API</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="icon" href="${PAGE_ICON}">
    <link rel="preload" href="${escapeHtml(url)}" as="fetch" crossorigin>
    <style>${STYLE}</style>
  </head>
  <body>
    <nav class="back" aria-label="Service"><a href="../">← ${escapeHtml(title)}</a></nav>
    <div id="app"></div>
    <p class="loading" role="status">Loading the API document …</p>
    <noscript>This page needs JavaScript. The document is <a href="${escapeHtml(url)}">${escapeHtml(url)}</a>.</noscript>
    <script src="${escapeHtml(script)}"></script>
    <script>${start}</script>
  </body>
</html>
`
  return { html, policy: contentSecurityPolicy(start) }
}

/**
 * Returns the policy that lets the page run its own script and one inline script, which is identified by its hash. The page may
 * call only this host. Inline styles are allowed, because the library inserts style elements.
 */
function contentSecurityPolicy(inlineScript: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash('sha256', inlineScript, 'base64')}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Returns JSON that cannot end the script element around it. */
function inScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
