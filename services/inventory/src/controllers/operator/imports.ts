import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import type { z } from 'zod'
import { callerOf } from '../../access/actor.ts'
import { importNotFound } from '../../errors.ts'
import { OperatorImportView, ReportedImportView, storingOf } from '../../imports/import-report.ts'
import { findOperatorImport, listOperatorImports } from '../../imports/operator-import-repository.ts'

import { operatorGuardsFor } from '../../plugins/authorize.ts'
import { checkImportBody, ImportKeywords } from '../../plugins/import-body.ts'
import { OperatorController } from '../../plugins/inventory-controller.ts'
import { idempotent, listBody, listEnvelope, outage, recordBody, recordEnvelope } from '../../requests/answers.ts'
import { ImportId, PageKeywords } from '../../requests/fields.ts'
import { queueImport } from '../../use-cases/queue-import.ts'

const ListKeywords = PageKeywords.extend({
  order: p.oneOf('desc', 'asc').default('desc').meta({ description: 'desc: the newest first' }),
})
const PATH = '/operator/imports'

/** Runs imports as jobs (console reference: Imports of operators). */
export class Default extends OperatorController {
  static override use = operatorGuardsFor({ GET: 'imports.read', POST: 'products.import' })

  static GET = [
    accepts({
      keywords: ListKeywords,
      returns: listEnvelope(OperatorImportView),
      responses: outage,
      summary: 'List imports',
      description: 'The imports of the last 30 days.',
      tags: ['operators'],
    }),
    accepts({
      path: [ImportId],
      names: ['importId'],
      returns: recordEnvelope(ReportedImportView, 200),
      responses: outage,
      summary: 'Get an import with its report',
      tags: ['operators'],
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson> {
    return typeof args[0] === 'number' ? this.#find(args[0]) : this.#list(args[0])
  }

  static POST = accepts({
    keywords: ImportKeywords,
    body: 'raw',
    status: 202,
    returns: recordEnvelope(ReportedImportView, 202),
    responses: { ...idempotent, 403: 'The role of the operator may not do this', 408: 'Nothing arrived for 30 s' },
    summary: 'Start an import',
    description:
      'The body is as in POST /products/import. The file is kept until a process has imported it; GET shows how far it is.',
    tags: ['operators'],
  })
  async POST(...[keywords]: Args<typeof Default.POST>): Promise<RawJson> {
    const { verdict, body } = await this.#queue(keywords)
    this.logOrMarkReplayed(verdict, { event: 'import.started', import_id: body.id })
    this.response.headers.set('location', `${PATH}/${body.id}`)
    return recordBody(202, JSON.stringify(body))
  }

  /** Stores the file as it arrives, and queues its import. */
  async #queue({ mode, atomic, dryRun }: z.output<typeof ImportKeywords>): ReturnType<typeof queueImport> {
    const { context } = this.application
    const toCaller = (content: object) => callerOf(this.request, PATH, content)
    // Refuses a request without a key before its file arrives.
    const key = toCaller({}).idempotentRequest?.key
    const { format, open } = checkImportBody(
      this.request,
      { bytesMax: context.config.importBytesMax },
      context.timeouts.silenceMs,
    )
    this.liftDeadline()
    using _ = context.imports.take(this.client)
    const order = { format, mode, storing: storingOf({ atomic, dryRun }) }
    return await queueImport(context, { ...order, operator: this.operator, key, bytes: open(), toCaller })
  }

  async #list({ order, ...keywords }: z.output<typeof ListKeywords>): Promise<RawJson> {
    const { config: limits, db } = this.application.context
    const rows = await this.readPageById({ path: PATH, selection: order, keywords, limits }, (behind) =>
      this.withListSlot(() => listOperatorImports(db, order, behind)),
    )
    return listBody(rows.map((row) => JSON.stringify(row)))
  }

  async #find(id: number): Promise<RawJson> {
    const found = await findOperatorImport(this.application.context.db, id)
    if (found === undefined) throw importNotFound()
    return recordBody(200, JSON.stringify(found))
  }
}
