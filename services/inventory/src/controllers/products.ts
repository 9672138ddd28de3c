import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { productNotFound } from '../errors.ts'
import { RecordId } from '../http/record-id.ts'
import { outage } from '../http/responses.ts'
import { isJsonText, type JsonText } from '../json/json-object.ts'
import { listBody, listEnvelope, recordBody, recordEnvelope } from '../list-envelope.ts'
import { cutPage, PageKeywords, readPage } from '../paging/page-query.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import { namesTag, productTag } from '../products/entity-tag.ts'
import { findProduct, listProducts } from '../products/product-repository.ts'
import { ProductCreatedView, ProductView, productCreatedJson, productJson } from '../products/product-view.ts'
import { findSkuFault, SKU_LENGTH_MAX } from '../products/sku.ts'
import { createProduct } from '../use-cases/create-product.ts'

const Sku = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
  .meta({ minLength: 1, maxLength: SKU_LENGTH_MAX })
  .superRefine((sku, context) => {
    const fault = findSkuFault(sku)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })

const Attributes = z
  .custom<string | JsonText>((value) => typeof value === 'string' || isJsonText(value), {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be a text that is JSON, an object or an array'),
  })
  .meta({
    type: ['string', 'object', 'array'],
    description: 'JSON: as a text that holds it, or as an object or array. Numbers keep every digit.',
  })

const CreateBody = z
  .object({ sku: Sku, attributes: Attributes })
  .meta({ examples: [{ sku: 'TSHIRT-RED-M', attributes: '{"color":"red","price":19.90}' }] })

/** /products, /products/{productId} */
export class Default extends InventoryController {
  static GET = [
    accepts({
      keywords: PageKeywords,
      returns: listEnvelope(ProductView),
      responses: outage,
      summary: 'List products by id',
    }),
    accepts({
      path: [RecordId],
      names: ['productId'],
      returns: recordEnvelope(ProductView, 200),
      responses: { 304: 'Not changed since the version that If-None-Match names', ...outage },
      summary: 'Get a product',
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson | undefined> {
    return args.length === 1 ? this.#list(args[0]) : this.#find(args[0])
  }

  static POST = accepts({
    keywords: CreateBody,
    status: 201,
    returns: recordEnvelope(ProductCreatedView, 201),
    responses: { 409: 'A product with this sku already exists', ...outage },
    summary: 'Create a product',
  })
  async POST(...[body]: Args<typeof Default.POST>): Promise<RawJson> {
    const { id, version } = await createProduct(this.application.context, body)
    this.note({ event: 'product.created', product_id: id })
    this.response.headers.set('location', `/products/${id}`)
    this.response.headers.set('etag', productTag(id, version))
    return recordBody(201, productCreatedJson(id))
  }

  async #list(keywords: PageKeywords): Promise<RawJson> {
    const { lanes, config } = this.application.context
    const { limit, after } = readPage('/products', config, keywords)
    const found = await listProducts(lanes, after, limit + 1)
    const { rows, link } = cutPage('/products', { limit, defaultLimit: config.defaultLimit }, found)
    this.response.headers.set('link', link)
    return listBody(rows.map(productJson))
  }

  async #find(id: number): Promise<RawJson | undefined> {
    const product = await findProduct(this.application.context.lanes, id)
    if (!product) throw productNotFound()
    const etag = productTag(product.id, product.version)
    this.response.headers.set('etag', etag)
    this.response.headers.set('cache-control', 'no-cache')
    const known = this.request.header('if-none-match')
    if (known === undefined || !namesTag(known, etag)) return recordBody(200, productJson(product))
    this.response.status = 304
    return undefined
  }
}
