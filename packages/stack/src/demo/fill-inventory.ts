import { z } from 'zod'
import { createDemoClient, type DemoClient } from './demo-client.ts'

/** A product, and its quantities by location. */
interface DemoProduct {
  readonly sku: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** The quantity that is delivered to the warehouse. */
  readonly delivered: number
  /** The quantity that is moved from the warehouse to the café. */
  readonly carried: number
}

/**
 * Adds the products, their stock at two locations, and orders. Returns lines for the terminal.
 *
 * @throws StackFailure if a request is refused; Error if a response does not contain the created object
 */
export async function fillInventory(url: string): Promise<readonly string[]> {
  const call = createDemoClient(url)
  const records = products.map(({ sku, attributes }) => `${JSON.stringify({ sku, attributes })}\n`).join('')
  const text = { type: 'application/x-ndjson', content: records }
  await call('POST', '/products/import?mode=skip', { text })
  const [warehouse, cafe] = [
    await addLocation(call, 'NORDHAVN', 'Nordhavn roastery'),
    await addLocation(call, 'CAFE', 'Café at the harbour'),
  ]
  const idOf = await findProducts(call)
  await moveStock(
    call,
    'demo-delivery',
    products.map(({ sku, delivered }) => ({
      type: 'receive',
      productId: idOf(sku),
      locationId: warehouse,
      quantity: delivered,
    })),
  )
  await moveStock(
    call,
    'demo-transfer',
    products.map(({ sku, carried }) => ({
      type: 'transfer',
      productId: idOf(sku),
      fromLocationId: warehouse,
      toLocationId: cafe,
      quantity: carried,
    })),
  )
  await moveStock(call, 'demo-counter', [
    { type: 'ship', productId: idOf('COFFEE-HARBOUR'), locationId: cafe, quantity: 9 },
    { type: 'ship', productId: idOf('MUG-SAND'), locationId: cafe, quantity: 2 },
    { type: 'adjust', productId: idOf('MUG-BLUE'), locationId: cafe, delta: -1, reason: 'broken' },
    { type: 'count', productId: idOf('FILTER-V60'), locationId: cafe, quantity: 38, reason: 'count of the month' },
  ])
  for (const reservation of reservations)
    await reserve(call, reservation, { productId: idOf(reservation.sku), locationId: warehouse })
  return [`inventory     ${products.length} products, ${url}/products?include=stock`]
}

const coffee = (sku: string, name: string, details: object, [delivered, carried]: readonly [number, number]) => ({
  sku,
  attributes: { name, category: 'coffee', weight: '250 g', ...details },
  delivered,
  carried,
})
const thing = (sku: string, name: string, details: object, [delivered, carried]: readonly [number, number]) => ({
  sku,
  attributes: { name, ...details },
  delivered,
  carried,
})

const products: readonly DemoProduct[] = [
  coffee('COFFEE-HUILA', 'Huila', { origin: 'Colombia', roast: 'medium', price: 12.5 }, [140, 30]),
  coffee('COFFEE-YIRGA', 'Yirgacheffe', { origin: 'Ethiopia', roast: 'light', price: 14 }, [96, 24]),
  coffee('COFFEE-ANTIGUA', 'Antigua', { origin: 'Guatemala', roast: 'medium', price: 13.5 }, [80, 16]),
  coffee('COFFEE-MANDHELING', 'Mandheling', { origin: 'Sumatra', roast: 'dark', price: 13 }, [60, 12]),
  coffee('COFFEE-HARBOUR', 'Harbour blend', { origin: 'blend', roast: 'dark', price: 10.5 }, [200, 60]),
  coffee('COFFEE-DECAF', 'Quiet evening', { origin: 'Peru', roast: 'medium', decaf: true, price: 13 }, [40, 8]),
  thing('FILTER-V60', 'Paper filters, 100', { category: 'brewing', price: 6.5 }, [300, 40]),
  thing('DRIPPER-V60', 'Ceramic dripper', { category: 'brewing', colour: 'white', price: 24 }, [25, 5]),
  thing('GRINDER-HAND', 'Hand grinder', { category: 'brewing', price: 89 }, [12, 2]),
  thing('MUG-BLUE', 'Stoneware mug', { category: 'mugs', colour: 'blue', price: 18 }, [48, 12]),
  thing('MUG-SAND', 'Stoneware mug', { category: 'mugs', colour: 'sand', price: 18 }, [48, 12]),
  thing('GIFT-BOX', 'Tasting box of four', { category: 'gifts', price: 42 }, [18, 6]),
]

interface DemoReservation {
  readonly sku: string
  readonly quantity: number
  readonly reference: string
  readonly end: 'committed' | 'released' | 'open'
}

const reservations: readonly DemoReservation[] = [
  { sku: 'COFFEE-HUILA', quantity: 2, reference: 'order-1001', end: 'committed' },
  { sku: 'GIFT-BOX', quantity: 1, reference: 'order-1002', end: 'committed' },
  { sku: 'MUG-BLUE', quantity: 4, reference: 'order-1003', end: 'released' },
  { sku: 'COFFEE-YIRGA', quantity: 3, reference: 'order-1004', end: 'open' },
  { sku: 'GRINDER-HAND', quantity: 1, reference: 'order-1005', end: 'open' },
]

const Listed = z.object({ data: z.array(z.object({ id: z.int() })) })
const Locations = z.object({ data: z.array(z.object({ id: z.int(), code: z.string() })) })
const Products = z.object({ data: z.array(z.object({ id: z.int(), sku: z.string() })) })
const Reservations = z.object({ data: z.array(z.object({ id: z.int(), status: z.string() })) })

async function addLocation(call: DemoClient, code: string, name: string): Promise<number> {
  await call('POST', '/locations', { body: { code, name }, expected: [409] })
  const { data } = Locations.parse((await call('GET', '/locations?limit=500')).body)
  const found = data.find((location) => location.code === code)
  if (found === undefined) throw new Error(`inventory has no location ${code}`)
  return found.id
}

async function findProducts(call: DemoClient): Promise<(sku: string) => number> {
  const skus = products.map(({ sku }) => sku).join(',')
  const { data } = Products.parse((await call('GET', `/products?sku[in]=${skus}&limit=500`)).body)
  const ids = new Map(data.map(({ id, sku }) => [sku, id]))
  return (sku) => ids.get(sku) ?? 0
}

/** Moves stock, unless the ledger already contains the reference. */
async function moveStock(call: DemoClient, reference: string, lines: readonly object[]): Promise<void> {
  const { data } = Listed.parse((await call('GET', `/movements?reference=${reference}&limit=1`)).body)
  if (data.length > 0) return
  await call('POST', '/movements', { body: { lines: lines.map((line) => ({ ...line, reference })) } })
}

async function reserve(call: DemoClient, { quantity, reference, end }: DemoReservation, place: object): Promise<void> {
  const list = Reservations.parse((await call('GET', `/reservations?reference=${reference}&limit=1`)).body)
  const made = async () => (await call('POST', '/reservations', { body: { ...place, quantity, reference } })).body
  const [found] = list.data.length > 0 ? list.data : Reservations.shape.data.parse([await unwrap(await made())])
  if (found?.status !== 'active') return
  if (end === 'committed') await call('POST', `/reservations/commit/${found.id}`, { body: {} })
  if (end === 'released') await call('DELETE', `/reservations/${found.id}`)
}

function unwrap(body: unknown): unknown {
  return z.object({ data: z.unknown() }).parse(body).data
}
