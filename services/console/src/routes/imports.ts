import { finished, Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { requestMalformed } from '../errors.ts'
import { importsPage } from '../imports/import-list.ts'
import { importPage } from '../imports/import-page.ts'
import { ImportsView, ImportView, importPath } from '../imports/import-view.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { type AskedAgain, askedAgain } from '../plugins/asked-changes.ts'
import { FormBody } from '../plugins/browser-session.ts'
import { answerDone, requireAction, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { RecordId } from '../service-calls/inventory-answer.ts'

const OPERATOR_IMPORTS = '/operator/imports'

const ImportBody = FormBody.extend({
  mode: z.enum(['insert', 'upsert', 'skip']),
  atomic: z.literal('yes').optional(),
  dryRun: z.literal('yes').optional(),
  file: z.object({ name: z.string(), bytes: z.instanceof(Readable), broken: z.instanceof(AbortSignal) }),
})

/** Files of products: started, listed, and shown with their progress. */
export const importsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.addContentTypeParser('multipart/form-data', readFileForm)
  app.addHook('onResponse', async ({ raw }) => readRest(raw))

  app.get('/imports', { schema: { querystring: ListQuery } }, async (request, reply) =>
    showImports({ request, reply }, request.query),
  )

  app.post('/imports', { schema: { body: ImportBody } }, async (request, reply) =>
    startImport({ request, reply }, request.body),
  )

  app.get('/imports/:importId', { schema: { params: z.object({ importId: RecordId }) } }, async (request, reply) => {
    const { calls } = visitOf(request)
    const { value } = await calls.read('inventory', `${OPERATOR_IMPORTS}/${request.params.importId}`, ImportView)
    return sendPage(request, reply, importPage(value))
  })
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

async function showImports(
  { request, reply }: Exchange,
  query: z.output<typeof ListQuery>,
  asked?: AskedAgain,
): Promise<FastifyReply> {
  const { calls, role, form } = visitOf(request)
  const { proof = form, problem, status = 200 } = asked ?? {}
  const { order, cursor, limit } = pageQuery(query)
  const listed = await calls.read('inventory', OPERATOR_IMPORTS, ImportsView, { order, cursor, limit })
  const page = importsPage({ query, listed, role, proof, problem })
  return sendPage(request, reply, page, status)
}

/** Sends the file on while it comes. */
async function startImport(
  { request, reply }: Exchange,
  { mode, atomic, dryRun, file, _key: key }: z.output<typeof ImportBody>,
): Promise<FastifyReply> {
  const { calls } = requireAction(request, 'products.import')
  const type = typeOf(file.name)
  if (type === undefined) {
    const message = 'Choose a file whose name ends in .csv, .ndjson or .jsonl.'
    return showImports({ request, reply }, {}, askedAgain(request, { kind: 'refused', message }))
  }
  reply.liftDeadline()
  const outcome = await calls.change({
    service: 'inventory',
    method: 'POST',
    path: OPERATOR_IMPORTS,
    query: { mode, atomic: atomic !== undefined, dryRun: dryRun !== undefined },
    file: { type, bytes: file.bytes },
    key,
  })
  if (outcome.kind === 'done') {
    const { id } = ImportView.parse(outcome.body)
    return answerDone(request, reply, { path: importPath(id), toast: 'The file has arrived' })
  }
  // Inventory answers nothing to a file without an end, either.
  if (outcome.kind === 'unknown') file.broken.throwIfAborted()
  return showImports({ request, reply }, {}, askedAgain(request, outcome))
}

/** The media type of a file by the end of its name: what a browser says depends on the machine. */
function typeOf(name: string): string | undefined {
  if (/\.csv$/i.test(name)) return 'text/csv'
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'application/x-ndjson' : undefined
}

/** A file of a form, which is read as it comes. */
interface FormFile {
  /** The name of the file in the folder of the operator. Empty: none was chosen. */
  readonly name: string
  readonly bytes: Readable
  /** Aborted with the error of a form that is malformed, or breaks off. */
  readonly broken: AbortSignal
}

/** A form has a few short fields in front of its file. */
const LIMITS = { fields: 10, fieldSize: 1_024, files: 1, parts: 11 } as const

/**
 * Reads a form with a file until the file begins: the fields stand before it. The caller reads the file itself.
 * @throws requestMalformed for what is no such form, or breaks off
 */
function readFileForm({ headers }: FastifyRequest, payload: Readable): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
  const fields = new Map<string, unknown>()
  const broken = new AbortController()
  let file: Readable | undefined
  const breakOff = (cause: unknown) => {
    const error = requestMalformed({ cause })
    broken.abort(error)
    // A reader of the file must learn that it has broken off.
    file?.destroy(error)
    reject(error)
  }
  try {
    const form = new Busboy({ headers: { ...headers, 'content-type': headers['content-type'] ?? '' }, limits: LIMITS })
    form.on('field', (name, value) => fields.set(name, value))
    form.on('file', (_field, bytes, name: string | undefined) => {
      // Where nobody reads a file, because its form is refused, an error of it would end the process.
      bytes.on('error', () => {})
      file = bytes
      resolve({
        ...Object.fromEntries(fields),
        file: { name: name ?? '', bytes, broken: broken.signal } satisfies FormFile,
      })
    })
    form.on('finish', () => resolve(Object.fromEntries(fields)))
    form.on('error', breakOff)
    finished(payload, (error) => {
      if (error) breakOff(error)
    })
    // Not `pipeline`: it would cut the connection of a form that is malformed, before the answer.
    payload.pipe(form)
  } catch (error) {
    breakOff(error)
  }
  return promise
}

/** How much of a form is read after its answer, and for how long, in milliseconds. */
interface RestBounds {
  readonly bytes: number
  readonly ms: number
}

/** More than a browser has on its way when it gets an answer; a client that sends on is cut. */
const REST_MAX: RestBounds = { bytes: 64 * 1_024 * 1_024, ms: 30_000 }

/**
 * Reads what nobody has read of a file, and what comes of it within the bounds: a browser takes an answer once it has sent all of its
 * form. Then the connection is cut, so that nobody keeps connections for nothing.
 */
export function readRest(raw: Readable, { bytes, ms }: RestBounds = REST_MAX): void {
  raw.unpipe()
  if (raw.readableEnded || raw.destroyed) return
  let rest = 0
  const timer = setTimeout(() => raw.destroy(), ms).unref()
  raw.once('close', () => clearTimeout(timer))
  raw.on('data', (piece: Buffer) => {
    rest += piece.length
    if (rest > bytes) raw.destroy()
  })
  raw.resume()
}
