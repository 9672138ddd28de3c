import { readFile } from 'node:fs/promises'
import { getCompileCacheDir } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { renderDocumentPage } from './document-page.ts'
import { type Encoding, pack, type ServeAsset, sharedAsset } from './shared-asset.ts'

/** The path of the page about the API. Its script is below it. */
export const DOCS_PATH = '/docs'
const PAGE_PATH = `${DOCS_PATH}/`
const SCRIPT_PATH = `${DOCS_PATH}/js/scalar.js`
/** The page and the document change with a release: clients revalidate them each time. */
const ASK_EACH_TIME = 'no-cache'
/** The URL of the script names the release of the library, so the script behind it never changes. */
const KEEP_FOREVER = 'public, max-age=31536000, immutable'

/** The handlers that a service registers at `/openapi.json`, `/docs` and `/docs/js/scalar.js`. */
export interface DocumentPages {
  readonly document: ServeAsset
  readonly page: ServeAsset
  readonly script: ServeAsset
}

/**
 * Makes the handlers of the API document and of the page about it. A trailing slash must reach the handler of `/docs` too.
 * @param title the name of the API
 * @param read the text of the OpenAPI document. Called once
 */
export function createDocumentPages(title: string, read: () => Promise<Buffer>): DocumentPages {
  return { document: documentAsset(read), page: pageWithRedirect(title), script: scriptAsset() }
}

/** Serves the API document at `/openapi.json`. */
function documentAsset(read: () => Promise<Buffer>): ServeAsset {
  const json = runOnce(read)
  return sharedAsset({
    type: 'application/json; charset=utf-8',
    cacheControl: ASK_EACH_TIME,
    load: async (encoding) => pack(await json(), encoding),
  })
}

/** Serves the page at `/docs/`, and redirects `/docs` there, because the page names its script by a relative URL. */
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

/** The page, with a content security policy that allows its one inline script. */
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

/** The release of the library that shows documents. Nothing of the library is loaded. */
async function readLibraryVersion(): Promise<string> {
  const file = new URL('../package.json', import.meta.resolve('@scalar/fastify-api-reference'))
  return Package.parse(JSON.parse(await readFile(file, 'utf8'))).version
}

function isPage(url: string): boolean {
  return url.split('?', 1)[0]?.endsWith('/') === true
}

/** Reads the OpenAPI document of a service. Programs get it without the indentation that people read. */
export async function readApiDocument(file: URL): Promise<Buffer> {
  return Buffer.from(JSON.stringify(JSON.parse(await readFile(file, 'utf8'))))
}

const PROGRAM_MS = 30_000
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** The script of the library, from a process that loads it. */
async function loadScript(encoding: Encoding): Promise<Buffer> {
  const { execFile } = await import('node:child_process')
  const cache = getCompileCacheDir()
  const program = join(import.meta.dirname, 'print-page-script.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, encoding], {
    encoding: 'buffer',
    // The library does not need the settings of the service, which include secrets.
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
