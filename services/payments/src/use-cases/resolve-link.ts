import type { Pools } from '@trestle/database/pools.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import type { PaymentsConfig } from '../config.ts'
import { isChargeable } from '../money/currencies.ts'
import { currencyOf, type JudgedLink, judgeLink } from '../payment-links/link.ts'
import { findLinkPayee } from '../payment-links/payee-repository.ts'

/** Returns the payment that a link describes, or the reason why it cannot be paid (reference: Parameters of a link). */
export async function resolveLink(
  {
    config,
    pools,
    acquirers,
  }: { readonly pools: Pools; readonly acquirers: Acquirers; readonly config: Pick<PaymentsConfig, 'dayLimits'> },
  query: URLSearchParams,
): Promise<JudgedLink> {
  const key = query.get('key')?.trim() ?? ''
  if (key === '') return { verdict: 'problem', problem: 'key-missing' }
  const currency = currencyOf(query)
  const chargeable = currency !== undefined && isChargeable(currency) ? currency : null
  const { rateAgeDaysMax } = config.dayLimits
  const payee = await findLinkPayee(
    pools,
    { key, currency: chargeable },
    { acquirers: acquirers.names, rateAgeDaysMax },
  )
  return payee ? refuseLost(judgeLink(query, payee)) : { verdict: 'problem', problem: 'key-unknown' }
}

/** Refuses a link with undecodable texts: U+FFFD replaces percent-encoded bytes that are not UTF-8. */
function refuseLost(judged: JudgedLink): JudgedLink {
  if (judged.verdict !== 'read') return judged
  const { link } = judged
  const problem = (['redirect', 'reference', 'text'] as const).find((name) => link[name]?.includes('\uFFFD'))
  return problem === undefined ? judged : { verdict: 'problem', problem }
}
