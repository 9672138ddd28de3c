import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { z } from 'zod'
import { callerOf } from '../access/actor.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { isJsonText, type JsonText } from '../json/json-object.ts'
import { guardsFor } from '../plugins/authorize.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import {
  findSkuProblem,
  ListedProductView,
  ProductCreatedView,
  ProductView,
  productCreatedJson,
  productJson,
  SKU_LENGTH_MAX,
  SKU_PATTERN,
} from '../products/product.ts'
import { IncludeKeywords, ProductListKeywords } from '../products/product-query.ts'
import {
  idempotent,
  listBody,
  listEnvelope,
  listStream,
  outage,
  productTag,
  recordBody,
  recordEnvelope,
  withBody,
} from '../requests/answers.ts'
import { ProductId } from '../requests/fields.ts'
import { type ChangeProductInput, changeProduct, createProduct, deleteProduct } from '../use-cases/change-products.ts'
import { type ListedProducts, listProducts, showProduct } from '../use-cases/list-products.ts'

const LIST_DESCRIPTION =
  `All parameters must hold. attributes.PATH=V compares a value inside the attributes with a JSON scalar
or a text. PATH is keys joined with dots; a key with a dot stands in double quotes. Operators follow in brackets: ne, gt, gte, lt,
lte, in, has, exists, prefix; for example attributes.price[gte]=10. At most ten filters, and 100 values in all lists of a
request.`.replaceAll('\n', ' ')

const JSON_TYPE = 'application/json; charset=utf-8'

const Sku = z
  .string({ error: ({ input }) => (input === undefined ? VALUE_TEXTS.required : FIELD_TEXTS.notString) })
  .meta({
    minLength: 1,
    maxLength: SKU_LENGTH_MAX,
    pattern: SKU_PATTERN,
    description: 'The name that its owner gives a product. No other product has it',
  })
  .superRefine((sku, context) => {
    const problem = findSkuProblem(sku)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })

/** The beginning of an attributes text: JSON that is not `null`. */
const ATTRIBUTES_START = String.raw`^[ \t\r\n]*(?:[\[{"0-9-]|true|false)`

const Attributes = z
  .custom<string | JsonText>((value) => typeof value === 'string' || isJsonText(value), {
    error: ({ input }) => (input === undefined ? VALUE_TEXTS.required : FIELD_TEXTS.notAttributes),
  })
  .meta({
    type: ['string', 'object', 'array'],
    pattern: ATTRIBUTES_START,
    description: 'JSON: a text that holds it, or an object or array. Numbers keep every digit.',
    examples: [{ color: 'red', price: 19.9 }],
  })

const ProductBody = z.object({ sku: Sku, attributes: Attributes })

/** An attributes object is a merge patch (RFC 7396). */
const ProductPatch = z
  .object({ sku: Sku.optional(), attributes: Attributes.optional() })
  .refine(({ sku, attributes }) => sku !== undefined || attributes !== undefined, FIELD_TEXTS.noProductMember)
  .meta({ minProperties: 1 })

const OnePath = { path: [ProductId], names: ['productId'] } as const
const changeResponses = {
  409: 'A product with this sku already exists',
  412: 'The product has another version than If-Match names',
  428: 'If-Match is missing, where the service demands it',
  ...withBody,
} as const

export class Default extends InventoryController {
  static override use = guardsFor({
    GET: 'products.read',
    POST: 'products.change',
    PUT: 'products.change',
    PATCH: 'products.change',
    DELETE: 'products.delete',
  })

  static GET = [
    accepts({
      keywords: ProductListKeywords,
      returns: listEnvelope(ListedProductView),
      responses: outage,
      summary: 'List products',
      description: LIST_DESCRIPTION,
    }),
    accepts({
      ...OnePath,
      keywords: IncludeKeywords,
      returns: recordEnvelope(ProductView, 200),
      responses: { 304: 'Not changed since the version that If-None-Match names', ...outage },
      summary: 'Get a product',
    }),
  ]
  GET(...args: Args<typeof Default.GET>): Promise<RawJson | ReadableStream | undefined> {
    return args.length === 1 ? this.#list(args[0]) : this.#find(...args)
  }

  static POST = accepts({
    keywords: ProductBody,
    status: 201,
    returns: recordEnvelope(ProductCreatedView, 201),
    responses: { 409: 'A product with this sku already exists', ...idempotent },
    summary: 'Create a product',
  })
  async POST(...[body]: Args<typeof Default.POST>): Promise<RawJson> {
    const caller = callerOf(this.request, '/products', body)
    const { verdict, body: created } = await this.changeWithSlot('productWrites', (audited) =>
      createProduct(this.application.context, { caller, ...body, ...audited }),
    )
    const { id, version } = created
    this.logOrMarkReplayed(verdict, { event: 'product.created', product_id: id })
    this.response.headers.set('location', `/products/${id}`)
    this.response.headers.set('etag', productTag(id, version))
    return recordBody(201, productCreatedJson(id))
  }

  static PUT = accepts({
    ...OnePath,
    keywords: ProductBody,
    returns: recordEnvelope(ProductView, 200),
    responses: changeResponses,
    summary: 'Replace a product',
  })
  PUT(...[id, body]: Args<typeof Default.PUT>): Promise<RawJson> {
    return this.#change({ id, ...body, mode: 'replace' })
  }

  static PATCH = accepts({
    ...OnePath,
    keywords: ProductPatch,
    returns: recordEnvelope(ProductView, 200),
    responses: changeResponses,
    summary: 'Change a product',
    description: 'An object of attributes is a merge patch (RFC 7396).',
  })
  PATCH(...[id, body]: Args<typeof Default.PATCH>): Promise<RawJson> {
    return this.#change({ id, ...body, mode: 'merge' })
  }

  static DELETE = accepts({
    ...OnePath,
    status: 204,
    responses: { ...changeResponses, 409: 'The product still has stock' },
    summary: 'Delete a product',
  })
  async DELETE(...[id]: Args<typeof Default.DELETE>): Promise<void> {
    const versions = this.versionsOf('p', id)
    await this.changeWithSlot('productWrites', (audited) =>
      deleteProduct(this.application.context, { id, versions, ...audited }),
    )
    this.addLogFields({ event: 'product.deleted', product_id: id })
  }

  async #change(fields: Omit<ChangeProductInput, 'versions'>): Promise<RawJson> {
    const versions = this.versionsOf('p', fields.id)
    const product = await this.changeWithSlot('productWrites', (audited) =>
      changeProduct(this.application.context, { ...fields, versions, ...audited }),
    )
    if (product.changed)
      this.addLogFields({ event: 'product.updated', product_id: product.id, version: product.version })
    this.response.headers.set('etag', productTag(product.id, product.version))
    return recordBody(200, productJson(product))
  }

  async #list(keywords: ProductListKeywords): Promise<RawJson | ReadableStream> {
    const { client } = this
    const { signal } = this.request
    const listed = await listProducts(this.application.context, { path: '/products', keywords, client, signal })
    this.linkPages('/products', listed.next)
    if (listed.total !== undefined) this.response.headers.set('x-total-count', String(listed.total))
    return listed.kind === 'short' ? listBody(listed.records) : this.#stream(listed)
  }

  #stream({ slot, pieces }: Extract<ListedProducts, { kind: 'long' }>): ReadableStream {
    this.keepUntilClosed(slot)
    this.liftDeadline()
    this.response.type = JSON_TYPE
    return listStream(pieces)
  }

  async #find(id: number, { include = [] }: IncludeKeywords): Promise<RawJson | undefined> {
    const { json, version } = await showProduct(this.application.context, { id, includes: include })
    const etag = include.length === 0 ? productTag(id, version) : productTag(id, version, json)
    return this.answerUnlessKnown(etag, json)
  }
}
