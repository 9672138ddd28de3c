import { hash } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Encoding, pack, sharedAsset } from './shared-asset.ts'

/** The path of the page about the API. Its script is below it. */
export const DOCS_PATH = '/docs'
const PAGE_PATH = `${DOCS_PATH}/`
const SCRIPT_PATH = `${DOCS_PATH}/js/scalar.js`
/** The page and the document change with a release: clients revalidate them each time. */
const ASK_EACH_TIME = 'no-cache'
const KEEP_A_DAY = 'public, max-age=86400'

/** What a service registers at `/openapi.json`, `/docs` and `/docs/js/scalar.js`. */
export type DocumentPages = ReturnType<typeof createDocumentPages>

/**
 * Makes the handlers of the API document and of the page about it. A trailing slash must reach the handler of `/docs` too.
 * @param describe makes the text of the OpenAPI document, once
 */
export function createDocumentPages(describe: () => Promise<Buffer>) {
  return { document: documentAsset(describe), page: pageWithRedirect(), script: scriptAsset() }
}

/** Serves the API document at `/openapi.json`. */
function documentAsset(describe: () => Promise<Buffer>): Serve {
  const json = runOnce(describe)
  return sharedAsset({
    type: 'application/json; charset=utf-8',
    cacheControl: ASK_EACH_TIME,
    load: async (encoding) => pack(await json(), encoding),
  })
}

/** Serves the page at `/docs/`, and redirects `/docs` there, because the page names its script by a relative URL. */
function pageWithRedirect(): Serve {
  const servePage = pageAsset()
  return async (request, reply) => (isPage(request.url) ? servePage(request, reply) : reply.redirect(PAGE_PATH, 301))
}

function scriptAsset(): Serve {
  return sharedAsset({
    type: 'application/javascript; charset=utf-8',
    cacheControl: KEEP_A_DAY,
    load: (encoding) => renderPage(SCRIPT_PATH, encoding),
  })
}

type Serve = ReturnType<typeof sharedAsset>

/** The page, with a content security policy that allows its one inline script. */
function pageAsset(): Serve {
  const open = runOnce(async () => {
    const html = await renderPage(PAGE_PATH, 'identity')
    return sharedAsset({
      type: 'text/html; charset=utf-8',
      cacheControl: ASK_EACH_TIME,
      headers: { 'content-security-policy': contentSecurityPolicy(html.toString()), 'referrer-policy': 'no-referrer' },
      load: (encoding) => pack(html, encoding),
    })
  })
  return async (request, reply) => (await open())(request, reply)
}

function isPage(url: string): boolean {
  return url.split('?', 1)[0]?.endsWith('/') === true
}

/**
 * Lets the page run its own script and one inline script, by its digest, and call only this host. The script inserts style
 * elements, so inline styles are allowed.
 */
function contentSecurityPolicy(html: string): string {
  const inline = [...html.matchAll(/<script type="text\/javascript">([\s\S]*?)<\/script>/g)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  )
  return [
    "default-src 'none'",
    ["script-src 'self'", ...inline].join(' '),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/**
 * Makes the text of the OpenAPI document, by the function `buildOpenApi` of a module. Another process loads the module and the
 * library that describes routes: in this one they would take 20 MiB, and block all requests for a second.
 */
export function describeApi(module: URL): Promise<Buffer> {
  return runProgram('print-api-document.ts', module.href)
}

/** What the library serves at a path. Another process loads the library: it would take 60 MiB in this one. */
function renderPage(path: string, encoding: Encoding): Promise<Buffer> {
  return runProgram('render-document-page.ts', path, encoding)
}

const PROGRAM_MS = 30_000
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** The output of a program in this folder. */
async function runProgram(file: string, ...args: readonly string[]): Promise<Buffer> {
  const { execFile } = await import('node:child_process')
  const cache = getCompileCacheDir()
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, file), ...args], {
    encoding: 'buffer',
    // The libraries do not need the settings of the service, which include secrets.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
    maxBuffer: OUTPUT_BYTES_MAX,
    timeout: PROGRAM_MS,
  })
  return stdout
}

/** Runs the work once for all callers, and again after it has failed. */
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
    /** Undefined while clients may not read the API document. */
    readonly documentPages: DocumentPages | undefined
  }
}
