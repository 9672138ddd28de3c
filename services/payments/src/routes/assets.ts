import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PAGE_STYLE } from '@trestle/common/documents/page-style.ts'
import { z } from 'zod'
import { errorAnswersWithoutLimit } from '../error-body.ts'
import { type Routes, requireEndpoint } from '../plugins/read-request.ts'
import { pathText } from '../requests/fields.ts'

interface Asset {
  readonly type: string
  readonly text: string
}

const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES = {
  'page.css': CSS,
  'pay.css': CSS,
  'approval.css': CSS,
  'bank.css': CSS,
  'conclude.js': SCRIPT,
  'leave.js': SCRIPT,
  'pay.js': SCRIPT,
  'print.js': SCRIPT,
  'read-card.js': SCRIPT,
} as const

const ASSETS_FOLDER = join(import.meta.dirname, '../pages/assets')

/** Every file that pages load, by name, read once at the start. The stylesheet of all pages precedes that of payments. */
const assets: ReadonlyMap<string, Asset> = new Map(
  Object.entries(TYPES).map(([name, type]) => [
    name,
    { type, text: (name === 'page.css' ? PAGE_STYLE : '') + readFileSync(join(ASSETS_FOLDER, name), 'utf8') },
  ]),
)

const assetAnswer: unknown = {
  description: 'The file',
  content: { 'text/css': { schema: z.string() }, 'text/javascript': { schema: z.string() } },
}

/** `GET /assets/:name`. The pages need files, because their content security policy forbids inline styles and scripts. */
export const assetsRoutes: Routes = async (app) => {
  app.get(
    '/assets/:name',
    {
      schema: {
        operationId: 'getAsset',
        tags: ['Pages'],
        summary: 'Get a style or a script of the pages',
        security: [],
        params: z.object({ name: pathText().meta({ enum: Object.keys(TYPES) }) }),
        response: { 200: assetAnswer, ...errorAnswersWithoutLimit(404) },
      },
    },
    (request, reply) => {
      const asset = requireEndpoint(assets.get(request.params.name))
      return reply.type(asset.type).send(asset.text)
    },
  )
}
