import { type Args, accepts, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { RecordId } from '../http/record-id.ts'
import { callerOf } from '../http/request-caller.ts'
import { outage, repeatable } from '../http/responses.ts'
import { listBody, listEnvelope, listStream, recordBody, recordEnvelope } from '../list-envelope.ts'
import type { Position } from '../paging/cursor.ts'
import { cutPage, readPage } from '../paging/page-query.ts'
import { InventoryController } from '../plugins/inventory-controller.ts'
import { namesTag, productTag } from '../products/entity-tag.ts'
import { ProductBody, ProductPatch } from '../products/product-body.ts'
import { countProducts, positionFormsOf, selectPlaces } from '../products/product-list.ts'
import { IncludeKeywords, nameOfSelection, ProductListKeywords, readSelection } from '../products/product-query.ts'
import { ProductCreatedView, ProductView, productCreatedJson, productJson } from '../products/product-view.ts'
import { type ChangeProductInput, changeProduct } from '../use-cases/change-product.ts'
import { createProduct } from '../use-cases/create-product.ts'
import { deleteProduct } from '../use-cases/delete-product.ts'
import {
  isPlainPage,
  listPlainProducts,
  listProducts,
  readPiece,
  readPieces,
  SHORT_ROWS,
} from '../use-cases/list-products.ts'
import { showProduct } from '../use-cases/show-product.ts'

const LIST_DESCRIPTION =
  `All parameters must hold. attributes.PATH=V compares a value inside the attributes with a JSON scalar
or a text; PATH is keys joined with dots, a key with a dot in double quotes. Operators in brackets behind it: ne, gt, gte, lt, lte,
in, has, exists, prefix; for example attributes.price[gte]=10. At most ten filters, and 100 values in all lists of a request.`.replaceAll(
    '\n',
    ' ',
  )

const JSON_TYPE = 'application/json; charset=utf-8'

const OnePath = { path: [RecordId], names: ['productId'] } as const
const changeResponses = {
  409: 'A product with this sku already exists',
  412: 'The product has another version than If-Match names',
  428: 'If-Match is missing, where the service demands it',
  ...outage,
} as const

/** /products, /products/{productId} */
export class Default extends InventoryController {
  static GET = [
    accepts({
      keywords: ProductListKeywords,
      returns: listEnvelope(ProductView),
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
    responses: { 409: 'A product with this sku already exists', ...repeatable },
    summary: 'Create a product',
  })
  async POST(...[body]: Args<typeof Default.POST>): Promise<RawJson> {
    const caller = callerOf(this.request, '/products', body)
    const { verdict, body: created } = await createProduct(this.application.context, caller, {
      ...body,
      client: this.client,
    })
    const { id, version } = created
    this.noteRepeat(verdict, { event: 'product.created', product_id: id })
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
    summary: 'Change a product; an object of attributes is a merge patch (RFC 7396)',
  })
  PATCH(...[id, body]: Args<typeof Default.PATCH>): Promise<RawJson> {
    return this.#change({ id, ...body, mode: 'merge' })
  }

  static DELETE = accepts({
    ...OnePath,
    status: 204,
    responses: { ...changeResponses, 409: 'There is still stock of this product' },
    summary: 'Delete a product',
  })
  async DELETE(...[id]: Args<typeof Default.DELETE>): Promise<void> {
    await deleteProduct(this.application.context, { id, versions: this.versionsOf('p', id), client: this.client })
    this.note({ event: 'product.deleted', product_id: id })
  }

  async #change(input: Omit<ChangeProductInput, 'versions' | 'client'>): Promise<RawJson> {
    const product = await changeProduct(this.application.context, {
      ...input,
      versions: this.versionsOf('p', input.id),
      client: this.client,
    })
    if (product.changed) this.note({ event: 'product.updated', product_id: product.id, version: product.version })
    this.response.headers.set('etag', productTag(product.id, product.version))
    return recordBody(200, productJson(product))
  }

  async #list(keywords: ProductListKeywords): Promise<RawJson | ReadableStream> {
    const { context } = this.application
    const { signal } = this.request
    const { limit: _limit, cursor: _cursor, include: includes = [], count, ...chosen } = keywords
    const selection = readSelection(chosen)
    const listing = {
      path: '/products',
      selection: nameOfSelection(chosen),
      positionForms: positionFormsOf(selection.sort),
    }
    const { limit, after } = readPage(listing, context.config, keywords)
    const page = { limit: limit + 1, after }
    const shown = { includes, signal }
    const cut = <T extends { readonly position: Position }>(found: readonly T[]): readonly T[] => {
      const { rows, link } = cutPage(listing, { limit, query: this.request.query }, found, ({ position }) => position)
      this.response.headers.set('link', link)
      return rows
    }
    if (count !== undefined) {
      const total = await this.readInTurn(() =>
        context.readLagging((db) => countProducts(db, selection.filters), signal),
      )
      this.response.headers.set('x-total-count', String(total))
    }
    if (page.limit <= SHORT_ROWS) {
      const found = isPlainPage(selection, shown, page)
        ? await listPlainProducts(context, page)
        : await this.readInTurn(() => listProducts(context, { selection, shown }, page))
      if (found) return listBody(cut(found).map(({ json }) => json))
    }
    this.keepUntilClosed(context.longPages.take(this.client))
    const places = await this.readInTurn(() => context.readLagging((db) => selectPlaces(db, selection, page), signal))
    const ids = cut(places).map(({ id }) => id)
    this.liftDeadline()
    this.response.type = JSON_TYPE
    return listStream(readPieces(ids, (some) => this.readInTurn(() => readPiece(context, some, shown))))
  }

  async #find(id: number, { include = [] }: IncludeKeywords): Promise<RawJson | undefined> {
    const { json, version } = await showProduct(this.application.context, id, include)
    const etag = include.length === 0 ? productTag(id, version) : productTag(id, version, json)
    this.response.headers.set('etag', etag)
    this.response.headers.set('cache-control', 'no-cache')
    const known = this.request.header('if-none-match')
    if (known === undefined || !namesTag(known, etag)) return recordBody(200, json)
    this.response.status = 304
    return undefined
  }
}
