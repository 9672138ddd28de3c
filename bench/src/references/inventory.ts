// The least that a competent server of products does: one statement a request, over the tables of the inventory service, and
// the headers that clients need. No log, no hooks, no limits.
import fastify from 'fastify'
import { z } from 'zod'
import { openLanes } from './lanes.ts'
import { listen, setting } from './listen.ts'

interface Product {
  readonly id: number
  readonly sku: string
  /** JSON text. */
  readonly attributes: string
  readonly version: number
}

const FIND = `SELECT id, sku, attributes::text AS attributes, version FROM inventory.products
  WHERE id = $1 AND deleted_at IS NULL`
const LIST = `SELECT id, sku, attributes::text AS attributes FROM inventory.products
  WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2`
const INSERT = 'INSERT INTO inventory.products (sku, attributes) VALUES ($1, $2) RETURNING id, version'
const JSON_TYPE = 'application/json; charset=utf-8'

const Body = z.strictObject({ sku: z.string().min(1).max(255), attributes: z.string().max(65_536) })
const Query = z.object({ limit: z.coerce.number().int().min(1).max(500).default(50), cursor: z.string().default('') })
const Params = z.object({ id: z.coerce.number().int().min(1) })

const { read, write } = await openLanes(setting('DATABASE_URL'))
const app = fastify({ logger: false })

const view = ({ id, sku, attributes }: Product) =>
  `{"id":${id},"sku":${JSON.stringify(sku)},"attributes":${attributes}}`

app.get('/products/:id', async (request, reply) => {
  const { id } = Params.parse(request.params)
  const [product] = await read<Product>({ name: 'find', text: FIND, values: [id] })
  if (!product) return reply.code(404).send({ statusCode: 404 })
  return reply
    .header('etag', `"p${id}-${product.version}"`)
    .type(JSON_TYPE)
    .send(`{"statusCode":200,"data":${view(product)}}`)
})

app.get('/products', async (request, reply) => {
  const { limit, cursor } = Query.parse(request.query)
  const after = cursor === '' ? 0 : Number(Buffer.from(cursor, 'base64url').toString())
  const rows = await read<Product>({ name: 'list', text: LIST, values: [after, limit + 1] })
  const page = rows.slice(0, limit)
  const next = rows.length > limit ? Buffer.from(String(page.at(-1)?.id)).toString('base64url') : undefined
  if (next !== undefined) reply.header('link', `</products?limit=${limit}&cursor=${next}>; rel="next"`)
  return reply.type(JSON_TYPE).send(`{"statusCode":200,"data":[${page.map(view).join(',')}]}`)
})

app.post('/products', async (request, reply) => {
  const body = Body.safeParse(request.body)
  if (!body.success || JSON.parse(body.data.attributes) === null) return reply.code(400).send({ statusCode: 400 })
  const { sku, attributes } = body.data
  const [product] = await write<Product>({ name: 'insert', text: INSERT, values: [sku, attributes] })
  return reply
    .code(201)
    .headers({ location: `/products/${product?.id}`, etag: `"p${product?.id}-1"` })
    .type(JSON_TYPE)
    .send(`{"statusCode":201,"data":{"id":${product?.id},"message":"Product ${product?.id} was created."}}`)
})

await listen(app)
