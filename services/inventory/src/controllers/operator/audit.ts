import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { AuditEntryView, listOperatorAudit } from '../../operators/operator-change-repository.ts'

import { operatorGuardsFor } from '../../plugins/authorize.ts'
import { OperatorController } from '../../plugins/inventory-controller.ts'
import { listBody, listEnvelope, outage } from '../../requests/answers.ts'
import { PageKeywords, ProductId } from '../../requests/fields.ts'

/** Lists the changes of operators (console reference: Routes of inventory). */
export class Default extends OperatorController {
  static override use = operatorGuardsFor({ GET: 'audit.read' })

  static GET = accepts({
    keywords: PageKeywords.extend({
      order: p.oneOf('desc', 'asc').default('desc').meta({ description: 'desc: the newest first' }),
      product: ProductId.optional().meta({ description: 'Only changes of this product and its stock' }),
    }),
    returns: listEnvelope(AuditEntryView),
    responses: outage,
    summary: 'List changes of operators',
    tags: ['operators'],
  })
  async GET(...[{ order, product: productId, ...keywords }]: Args<typeof Default.GET>): Promise<RawJson> {
    const { config: limits, db } = this.application.context
    const wanted = { path: '/operator/audit', selection: JSON.stringify({ order, productId }), keywords, limits }
    const rows = await this.readPageById(wanted, (behind) =>
      this.withListSlot(() => listOperatorAudit(db, { productId, order }, behind)),
    )
    return listBody(rows.map((entry) => JSON.stringify(entry)))
  }
}
