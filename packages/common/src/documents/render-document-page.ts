import reference from '@scalar/fastify-api-reference'
import { fastify } from 'fastify'
import { DOCS_PATH } from './document-pages.ts'
import { type Encoding, pack } from './shared-asset.ts'

// Prints what the library serves at a path, compressed: `node render-document-page.ts <path> <br|gzip|identity>`. It runs as a
// process of its own, since the library takes 60 MiB, which a service would keep as long as it runs.

const [, , path = DOCS_PATH, encoding = 'identity'] = process.argv

/** Turns off everything that calls a foreign host: fonts, telemetry, assistants, tools of the vendor. */
const CONFIGURATION = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
} as const

const pages = fastify()
await pages.register(reference, { routePrefix: DOCS_PATH, configuration: CONFIGURATION })
const { statusCode, rawPayload } = await pages.inject({ method: 'GET', url: path })
if (statusCode !== 200) throw new Error(`${path} answers ${statusCode}`)
process.stdout.write(await pack(rawPayload, isEncoding(encoding) ? encoding : 'identity'))

function isEncoding(word: string): word is Encoding {
  return ['br', 'gzip', 'identity'].includes(word)
}
