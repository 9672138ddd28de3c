import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import type { z } from 'zod'
import { requireLocation } from '../locations/location.ts'
import { cutPage, ID_FORM, readPage } from '../pagination/page.ts'
import { guardsFor } from '../plugins/authorize.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import { requireProduct } from '../products/product.ts'
import { levelTag, listBody, listEnvelope, outage, recordBody, recordEnvelope } from '../requests/answers.ts'
import { FreeText, LocationId, PageKeywords, ProductId } from '../requests/fields.ts'
import {
  type Level,
  LevelView,
  ListedLevelView,
  PLACE_INCLUDES,
  ProductStockView,
  QUANTITY_MAX,
} from '../stock/level.ts'
import { findLevel, findLongProductStock, findProductStock, listLevels, listNamed } from '../stock/level-repository.ts'

const ListKeywords = PageKeywords.extend({
  productId: ProductId.optional(),
  locationId: LocationId.optional(),
  sku: FreeText.optional().meta({
    description: 'Only levels of the product with this SKU, none when there is no such product',
  }),
  include: p
    .oneOf(...PLACE_INCLUDES)
    .optional()
    .meta({ description: 'names adds the SKU of the product and the code of the location' }),
  below: p.int({ min: 0, max: QUANTITY_MAX }).optional().meta({
    description:
      'Only levels with less than this available. A level is of one location and begins with the first movement: a product never received has none',
  }),
})

const positionOf = ({ productId, locationId }: Level) => [String(productId), String(locationId)]

export class Default extends InventoryController {
  static override use = guardsFor({ GET: 'stock.read' })

  static GET = [
    accepts({
      keywords: ListKeywords,
      returns: listEnvelope(ListedLevelView),
      responses: outage,
      summary: 'List stock levels',
    }),
    accepts({
      path: [ProductId],
      names: ['productId'],
      returns: recordEnvelope(ProductStockView, 200),
      responses: outage,
      summary: 'Get the stock of a product',
    }),
    accepts({
      path: [ProductId, LocationId],
      names: ['productId', 'locationId'],
      returns: recordEnvelope(LevelView, 200),
      responses: { 304: 'Not changed since the version that If-None-Match names', ...outage },
      summary: 'Get the stock of a product at a location',
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson | undefined> {
    if (args.length === 1) return this.#list(args[0])
    return args.length === 2 ? this.#findProduct(args[0]) : this.#findLevel(args[0], args[1])
  }

  async #list({ limit: rows, cursor, include, ...filters }: z.output<typeof ListKeywords>): Promise<RawJson> {
    const { config } = this.application.context
    const listing = { path: '/stock', selection: JSON.stringify(filters), positionForms: [ID_FORM, ID_FORM] }
    const { limit, after } = readPage(listing, config, { limit: rows, cursor })
    const found = await this.readLagging(async (db) => {
      const levels = await listLevels(db, filters, { after, limit: limit + 1 })
      return include === undefined ? levels : listNamed(db, levels)
    })
    const page = cutPage(listing, limit, found, positionOf)
    this.linkPages(listing.path, page.next)
    return listBody(page.rows.map((level) => JSON.stringify(level)))
  }

  async #findProduct(productId: number): Promise<RawJson> {
    const { pools, readLong } = this.application.context
    const found = await findProductStock(pools, productId)
    const stock =
      found === 'long'
        ? await this.withListSlot(() => readLong((db) => findLongProductStock(db, productId), this.request.signal))
        : found
    return recordBody(200, JSON.stringify(requireProduct(stock)))
  }

  async #findLevel(productId: number, locationId: number): Promise<RawJson | undefined> {
    const found = await findLevel(this.application.context.pools, { productId, locationId })
    const { level, version } = requireLocation(requireProduct(found))
    return this.answerUnlessKnown(levelTag({ productId, locationId }, version), JSON.stringify(level))
  }
}
