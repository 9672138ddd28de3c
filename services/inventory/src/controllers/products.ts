import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ErrorView } from '../error-vocabulary.ts'
import { productNotFound } from '../errors.ts'
import { NoQuery } from '../http/no-query.ts'
import { PathId } from '../http/path-id.ts'
import { isJsonText, type JsonText } from '../json/json-object.ts'
import { listBody, listEnvelope, recordBody, recordEnvelope, written } from '../list-envelope.ts'
import { cutPage, pageQuery } from '../paging/page-query.ts'
import { namesTag, productTag } from '../products/entity-tag.ts'
import { findProduct, listProducts } from '../products/product-repository.ts'
import { ProductCreatedView, ProductView, productCreatedJson, productJson } from '../products/product-view.ts'
import { findSkuFault, SKU_LENGTH_MAX } from '../products/sku.ts'
import { createProduct } from '../use-cases/create-product.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

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
  .strictObject({ sku: Sku, attributes: Attributes }, { error: 'must have the members sku and attributes alone' })
  .meta({ examples: [{ sku: 'TSHIRT-RED-M', attributes: '{"color":"red","price":19.90}' }] })
const ProductParams = z.object({ productId: PathId })
const errorViews = { 400: ErrorView, 500: ErrorView, 503: ErrorView } as const

/** GET and POST /products, GET /products/:productId */
export const productsController: FastifyPluginAsyncZod = async (app) => {
  const { lanes, config } = app.deps

  app.get(
    '/products',
    {
      schema: {
        summary: 'List products by id',
        tags: ['products'],
        querystring: pageQuery('/products', config),
        response: { 200: written(listEnvelope(ProductView)), ...errorViews },
      },
    },
    async (request, reply) => {
      const { limit, cursor } = request.query
      const found = await listProducts(lanes, cursor, limit + 1)
      const { rows, link } = cutPage('/products', { limit, defaultLimit: config.defaultLimit }, found)
      return reply
        .header('link', link)
        .type(JSON_TYPE)
        .send(listBody(rows.map(productJson)))
    },
  )

  app.post(
    '/products',
    {
      schema: {
        summary: 'Create a product',
        tags: ['products'],
        querystring: NoQuery,
        body: CreateBody,
        response: {
          201: written(recordEnvelope(ProductCreatedView, 201)),
          ...errorViews,
          409: ErrorView,
          413: ErrorView,
          415: ErrorView,
        },
      },
    },
    async (request, reply) => {
      const { id, version } = await createProduct(app.deps, request.body)
      request.logFields = { event: 'product.created', product_id: id }
      return reply
        .code(201)
        .headers({ location: `/products/${id}`, etag: productTag(id, version) })
        .type(JSON_TYPE)
        .send(recordBody(201, productCreatedJson(id)))
    },
  )

  app.get(
    '/products/:productId',
    {
      schema: {
        summary: 'Get a product',
        tags: ['products'],
        params: ProductParams,
        querystring: NoQuery,
        response: { 200: written(recordEnvelope(ProductView, 200)), 304: z.undefined(), ...errorViews, 404: ErrorView },
      },
    },
    async (request, reply) => {
      const product = await findProduct(lanes, request.params.productId)
      if (!product) throw productNotFound()
      const etag = productTag(product.id, product.version)
      reply.headers({ etag, 'cache-control': 'no-cache' })
      const known = request.headers['if-none-match']
      if (known !== undefined && namesTag(known, etag)) return reply.code(304).send(undefined)
      return reply.type(JSON_TYPE).send(recordBody(200, productJson(product)))
    },
  )
}
