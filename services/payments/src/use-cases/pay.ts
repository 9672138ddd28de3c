import { cardRefusal } from '../acquirers/simulate.ts'
import type { PaymentsDeps } from '../deps.ts'
import { orderRefused } from '../error-body.ts'
import { cardProblem, refusalDetails } from '../payments/card-judgement.ts'
import { type Challenge, challengesOf } from '../payments/challenge.ts'
import { updateOfferedStep } from '../payments/session-repository.ts'
import { nextOf, tdsVerdict } from '../tds/authentication.ts'
import type { Step, TdsStatus } from '../tds/enrolment.ts'
import { type AuthorizeDeps, authorizePayment, type DecidedOrder } from './authorize-payment.ts'
import { type CheckoutDeps, type EndedOrder, type OpenOrder, type OrderRequest, openCheckout } from './open-checkout.ts'

export type PayDeps = CheckoutDeps & AuthorizeDeps & Pick<PaymentsDeps, 'limitRefusals'>

/** What a client is to do next, or the transaction that its order became. */
export type PaymentAnswer =
  | { readonly challenges: readonly Challenge[] }
  | { readonly transactionId: string; readonly replayed: boolean }

/**
 * Takes a customer's order one step further: offers the next challenge and, when there is none left, asks for the
 * authorization. The same order and hints never pay twice (reference: Paying once).
 * @throws 400 with the status code of a refusal
 */
export async function pay(deps: PayDeps, request: OrderRequest): Promise<PaymentAnswer> {
  const opened = await openCheckout(deps, request)
  if ('end' in opened) return answer(opened)
  const refusal = problemOf(opened)
  const next = refusal === undefined ? nextOf(opened.session, opened.done) : { refusal }
  if ('step' in next) return offer(deps, opened, next.step)
  const decision = 'status' in next ? decide(opened, next.status) : next
  const authorize = () => authorizePayment(deps, { opened, repeat: request.repeat, decision })
  const end = await (opened.payee.test ? authorize() : deps.limitRefusals(request.address, authorize))
  if (!end) return offer(deps, { ...opened, session: undefined }, 'card-lookup')
  return answer({ end, network: opened.network, replayed: false, bound: undefined })
}

/** Why the card of an order is refused without asking anyone. */
export function problemOf({ order, payee, tokens, network, scenario }: OpenOrder): string | undefined {
  const { test, now } = payee
  return cardProblem({ number: tokens.number.value, network, expiry: order.card.expiry, test, scenario, now })
}

/** What the authentication means. The simulator's refusals of the card itself come before those of 3-D Secure. */
function decide({ payee, scenario }: OpenOrder, status: TdsStatus): DecidedOrder['decision'] {
  const verdict = tdsVerdict(status, payee.tdsMode)
  if ('tds' in verdict) return verdict
  return { refusal: (payee.test ? cardRefusal(scenario, 'customer') : undefined) ?? verdict.refusal }
}

async function offer({ lanes }: PayDeps, { order, payee, session }: OpenOrder, step: Step): Promise<PaymentAnswer> {
  if (session && session.state !== step) {
    await updateOfferedStep(lanes, { merchantId: payee.id, id: session.id }, { from: session.state, to: step })
  }
  const polls = session?.enrolment.polls ?? false
  return { challenges: challengesOf(step, { polls, canReturn: order.returnUrl !== undefined }) }
}

function answer({ end, network, replayed }: EndedOrder): PaymentAnswer {
  if ('transactionId' in end) return { transactionId: end.transactionId, replayed }
  throw orderRefused(end.statusCode, { replayed, details: refusalDetails(end.statusCode, network) })
}
