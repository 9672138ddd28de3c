import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { FORM_TEXTS } from '../errors.ts'
import { ImportsView, ImportView, importPage, importPath, importsPage } from '../imports/import-pages.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { type AskedAgain, askedAgain } from '../plugins/asked-changes.ts'
import { FormBody } from '../plugins/browser-session.ts'
import { readFileForm, readRest } from '../plugins/forms.ts'
import { answerDone, identifyAgain, requireAction, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { type Outcome, RecordId } from '../service-calls/operator-calls.ts'

const OPERATOR_IMPORTS = '/operator/imports'

const ImportBody = FormBody.extend({
  mode: z.enum(['insert', 'upsert', 'skip']),
  atomic: z.literal('yes').optional(),
  dryRun: z.literal('yes').optional(),
  file: z.object({ name: z.string(), bytes: z.instanceof(Readable), broken: z.instanceof(AbortSignal) }),
})
type ImportBody = z.output<typeof ImportBody>

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

async function startImport({ request, reply }: Exchange, body: ImportBody): Promise<FastifyReply> {
  requireAction(request, 'products.import')
  const outcome = await sendFile({ request, reply }, body)
  if (outcome.kind !== 'done') return showImports({ request, reply }, {}, askedAgain(request, outcome))
  const { id } = ImportView.parse(outcome.body)
  return answerDone(request, reply, { path: importPath(id), toast: 'The file has arrived' })
}

/** Sends the file to inventory while it arrives. Rejects file names with an unknown extension. */
async function sendFile(
  { request, reply }: Exchange,
  { mode, atomic, dryRun, file, _key: key }: ImportBody,
): Promise<Outcome> {
  const type = typeOf(file.name)
  if (type === undefined) {
    return { kind: 'refused', message: FORM_TEXTS.otherFile, field: 'file' }
  }
  reply.liftDeadline()
  const judged = new AbortController()
  const outcome = await visitOf(request).calls.change({
    service: 'inventory',
    method: 'POST',
    path: OPERATOR_IMPORTS,
    query: { mode, atomic: atomic !== undefined, dryRun: dryRun !== undefined },
    file: { type, bytes: judgedAtEnd(request, file.bytes, judged) },
    answer: ImportView,
    key,
  })
  // No answer arrived. If the browser broke off, throw its error instead of reporting inventory as unavailable.
  if (outcome.kind === 'unknown') AbortSignal.any([file.broken, judged.signal]).throwIfAborted()
  return outcome
}

/**
 * Yields the bytes of a file. The upload may take an hour, so the file ends only if the operator may still import then. Inventory
 * stores nothing of an incomplete file.
 * @param judged aborted with the error if the operator may not import
 */
async function* judgedAtEnd(
  request: FastifyRequest,
  bytes: Readable,
  judged: AbortController,
): AsyncGenerator<Uint8Array> {
  yield* bytes
  try {
    await identifyAgain(request)
    requireAction(request, 'products.import')
  } catch (error) {
    judged.abort(error)
    throw error
  }
}

/** Returns the media type by the extension of the file name. The type from the browser depends on the machine. */
function typeOf(name: string): string | undefined {
  if (/\.csv$/i.test(name)) return 'text/csv'
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'application/x-ndjson' : undefined
}
