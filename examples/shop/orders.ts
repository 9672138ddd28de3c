import { z } from 'zod'
import { listProducts, Product, Reservation, release, reserve, ship, takeBack } from './inventory.ts'
import { currency, findPayment, moveMoney } from './payments.ts'
import { find, list, save } from './store.ts'

const State = z.enum(['reserved', 'declined', 'cancelled', 'sold out', 'paid', 'refunded'])
const Purchase = z.object({ id: z.string(), userId: z.string(), product: Product, reservation: Reservation })
const Order = Purchase.extend({ transactionId: z.string().optional(), state: State })
/** A piece of a product that a customer buys, and what has become of it. */
export type Order = z.infer<typeof Order>
/** The orders of a customer, the newest first. */
export const listOrders = (userId: string): readonly Order[] => list(userId).map((object) => Order.parse(object))
const keep = (order: Order) => save(order.id, order.userId, order)
const isOpen = ({ state }: Order) => state === 'reserved' || state === 'declined'
const turns = new Map<string, Promise<unknown>>()
/** Works on an order while nobody else does: a double click, the webhook and the redirect take turns. */
function inTurn<Result>(id: string, work: (order: Order | undefined) => Promise<Result>): Promise<Result> {
  const begin = () => work(Order.optional().parse(find(id)))
  const turn = (turns.get(id) ?? Promise.resolve()).then(begin, begin)
  turns.set(id, turn)
  return turn.finally(() => turns.get(id) === turn && turns.delete(id))
}

/** Reserves one piece, at the price of the shop. Undefined when none is left. The same id again is the same order. */
export const placeOrder = (id: string, userId: string, sku: string): Promise<Order | undefined> =>
  inTurn(id, async (known) => {
    if (known) return known.userId === userId ? known : undefined
    const product = (await listProducts()).find((each) => each.sku === sku)
    const reservation = product && (await reserve(product, id))
    return reservation && keep({ id, userId, product, reservation, state: 'reserved' })
  })

/** Ends an order without a payment. After a declined card, the customer may still pay with another one. */
async function giveUp(order: Order, state: 'cancelled' | 'declined'): Promise<void> {
  if (!isOpen(order) || order.transactionId) return
  await release(order.reservation.id)
  keep({ ...order, state })
}

/** Does what a payment asks for. The webhook and the redirect both tell of it, in any order, and again after a failure. */
export const settle = (id: string, transactionId: string): Promise<void> =>
  inTurn(id, async (order) => {
    const payment = await findPayment(transactionId)
    if (payment.reference !== id) return
    if (!payment.successful) return order && giveUp(order, 'declined')
    // Money of another amount, of a second payment, for no order, or too late.
    const giveBack = () => moveMoney('voids', transactionId, payment.pendingAmount)
    const isDue = order && isOpen(order) && payment.amount === order.product.price && payment.currency === currency
    if (!isDue || (order.transactionId ?? transactionId) !== transactionId) return giveBack()
    // From now on, another payment of this order is a second one.
    const paid = keep({ ...order, transactionId })
    if (!(await ship(order.reservation.id, order.product, id))) {
      keep({ ...paid, state: 'sold out' })
      return giveBack()
    }
    await moveMoney('captures', transactionId, payment.amount)
    keep({ ...paid, state: 'paid' })
  })

/** Cancels what is not paid. What is paid is returned: the money goes to the customer, and the goods to the shelf. */
export const endOrder = (id: string, userId: string): Promise<void> =>
  inTurn(id, async (order) => {
    if (order?.userId !== userId) return
    if (order.state !== 'paid' || !order.transactionId) return giveUp(order, 'cancelled')
    await moveMoney('refunds', order.transactionId, order.product.price)
    await takeBack(order.product.id, order.reservation.locationId, id)
    keep({ ...order, state: 'refunded' })
  })
