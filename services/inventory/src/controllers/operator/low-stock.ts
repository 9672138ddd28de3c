import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { listLowLevels } from '../../operators/overview-repository.ts'
import { cutPage, ID_FORM, readPage } from '../../pagination/page.ts'
import { operatorGuardsFor } from '../../plugins/authorize.ts'
import { OperatorController } from '../../plugins/inventory-controller.ts'
import { listBody, listEnvelope, outage } from '../../requests/answers.ts'
import { PageKeywords } from '../../requests/fields.ts'
import { ListedLevelView, LOW_STOCK, QUANTITY_FORM, QUANTITY_MAX } from '../../stock/level.ts'
import { listNamed, type NamedLevel } from '../../stock/level-repository.ts'

const positionOf = ({ available, productId, locationId }: NamedLevel) => [available, productId, locationId].map(String)

const LISTING = { path: '/operator/low-stock', positionForms: [QUANTITY_FORM, ID_FORM, ID_FORM] } as const

/** Lists low stock levels, lowest first (console reference: Routes of inventory). */
export class Default extends OperatorController {
  static override use = operatorGuardsFor({ GET: 'stock.read' })

  static GET = accepts({
    keywords: PageKeywords.extend({
      below: p
        .int({ min: 0, max: QUANTITY_MAX })
        .default(LOW_STOCK)
        .meta({ description: 'Only levels with less available than this' }),
    }),
    returns: listEnvelope(ListedLevelView),
    responses: outage,
    summary: 'List levels that run low',
    description: 'The lowest first, with the SKU of the product and the code of the location.',
    tags: ['operators'],
  })
  async GET(...[{ below, ...keywords }]: Args<typeof Default.GET>): Promise<RawJson> {
    const listing = { ...LISTING, selection: String(below) }
    const { limit, after } = readPage(listing, this.application.context.config, keywords)
    const rows = { after, limit: limit + 1 }
    const found = await this.readLagging(async (db) => listNamed(db, await listLowLevels(db, below, rows)))
    const page = cutPage(listing, limit, found, positionOf)
    this.linkPages(listing.path, page.next)
    return listBody(page.rows.map((level) => JSON.stringify(level)))
  }
}
