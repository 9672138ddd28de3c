import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pack, sharedAsset } from '@trestle/common/documents/shared-asset.ts'
import type { FastifyPluginAsync } from 'fastify'
import { pageNotFound } from '../errors.ts'

const FOLDER = join(import.meta.dirname, '../pages/assets')
const HTMX = new URL(import.meta.resolve('htmx.org/dist/htmx.min.js'))

/** All files that pages load, by name. `console.css` consists of several files, in this order. */
const FILES = {
  'console.css': { type: 'text/css; charset=utf-8', paths: stylePaths() },
  'console.js': { type: 'text/javascript; charset=utf-8', paths: [join(FOLDER, 'console.js')] },
  'htmx.js': { type: 'text/javascript; charset=utf-8', paths: [HTMX] },
} as const

/** The browser revalidates a file each time, and gets 304 if it is unchanged. */
export const assetsRoutes: FastifyPluginAsync = async (app) => {
  const assets = new Map(
    Object.entries(FILES).map(([name, { type, paths }]) => {
      const load = async (encoding: Parameters<typeof pack>[1]) =>
        pack(Buffer.concat(paths.map((path) => readFileSync(path))), encoding)
      return [name, sharedAsset({ type, cacheControl: 'no-cache', load })] as const
    }),
  )
  app.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const serve = assets.get(request.params.name)
    if (serve === undefined) throw pageNotFound()
    return serve(request, reply)
  })
}

function stylePaths(): readonly string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.css'))
    .sort()
    .map((name) => join(FOLDER, name))
}
