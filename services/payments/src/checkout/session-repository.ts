import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { displayName } from '../merchants/site.ts'
import type { Enrolment, Step, TdsStatus } from './authentication.ts'

/** Identifies the session of an order among all merchants. */
export interface SessionKey {
  readonly merchantId: string
  readonly id: string
}

const openQuery = prepare(
  'open_session',
  (p: { merchantId: string; digest: Buffer; enrolment: Enrolment; step: Step }) => sql<{ id: string }>`
    SELECT ${sql.table('open_session')}(${p.merchantId}, ${p.digest}, ${p.step}, ${p.enrolment}::jsonb) AS id`,
)

/** Opens the session of an order for 30 minutes. Resolves to the id of the session. */
export async function insertSession(
  pools: Pools,
  input: { readonly merchantId: string; readonly digest: Buffer; readonly enrolment: Enrolment },
): Promise<string> {
  return (await pools.write.one(openQuery, { ...input, step: 'card-lookup' })).id
}

/** The step that was last offered (`from`) and the step to offer now (`to`). */
interface OfferedStep {
  readonly from: Step
  readonly to: Step
}

const offerQuery = prepare(
  'offer_step',
  (p: SessionKey & OfferedStep) => sql`
    SELECT ${sql.table('offer_step')}(${p.merchantId}, ${p.id}, ${p.from}, ${p.to})`,
)

/** Stores the offered step, so that a client takes no later step. Only the first concurrent request takes effect. */
export async function updateOfferedStep(pools: Pools, key: SessionKey, step: OfferedStep): Promise<void> {
  await pools.write.one(offerQuery, { ...key, ...step })
}

const takeQuery = prepare(
  'take_step',
  (p: SessionKey & { step: Step }) => sql`
    SELECT ${sql.table('take_step')}(${p.merchantId}, ${p.id}, ${p.step})`,
)

/** Stores that the client has the task of a step, if this step was the last offered step. */
export async function updateTakenStep(pools: Pools, key: SessionKey, step: Step): Promise<void> {
  await pools.write.one(takeQuery, { ...key, step })
}

/** The origin of the page that shows a challenge, and the URL to which the challenge redirects afterwards. */
export interface ChallengePlace extends SessionKey {
  /** `null` if the request did not state the origin. The stored origin stays unchanged. */
  readonly origin: string | null
  readonly returnUrl: string | null
}

const challengeQuery = prepare(
  'start_challenge',
  (p: ChallengePlace) => sql<{ waits: boolean }>`
    SELECT ${sql.table('start_challenge')}(${p.merchantId}, ${p.id}, ${p.origin}, ${p.returnUrl}) AS waits`,
)

/** Stores the time at which the customer was first asked. Resolves to `true` if that time was less than two seconds ago. */
export async function updateChallenged(pools: Pools, place: ChallengePlace): Promise<boolean> {
  return (await pools.write.one(challengeQuery, place)).waits
}

/** A challenge as the simulated bank sees it. */
export interface OpenChallenge {
  readonly digest: Buffer
  readonly enrolment: Enrolment
  /** `null` if the customer has not answered. */
  readonly outcome: TdsStatus | null
  /** `false` if it is too late to answer. */
  readonly isOpen: boolean
  readonly origin: string | null
  readonly returnUrl: string | null
  /** The name by which customers know the merchant. */
  readonly merchant: string
}

type ChallengeRow = Omit<OpenChallenge, 'merchant'> & { readonly name: string | null; readonly website: string }

const findQuery = routeByTenant(
  prepare(
    'find_challenge',
    (p: SessionKey) => sql<ChallengeRow>`
    SELECT s.digest, s.tds AS enrolment, s.outcome, s.origin, s.return_url AS "returnUrl",
      m.name, m.website,
      s.attempt_id IS NULL AND s.expires > now() AND s.challenged > now() - interval '10 minutes' AS "isOpen"
    FROM ${sql.table('payment_sessions')} s JOIN ${sql.table('merchants')} m ON m.id = s.merchant_id
    WHERE s.merchant_id = ${p.merchantId} AND s.id = ${p.id}`,
  ),
  ({ merchantId }) => merchantId,
)

/** Returns the challenge of a session, or `undefined` if the session was deleted. */
export async function findChallenge(pools: Pools, key: SessionKey): Promise<OpenChallenge | undefined> {
  const row = await pools.read.first(findQuery, key)
  if (!row) return undefined
  const { name, website, ...challenge } = row
  return { ...challenge, merchant: displayName(name, website) }
}

const decideQuery = prepare(
  'decide_challenge',
  (p: SessionKey & { outcome: TdsStatus }) => sql`
    SELECT ${sql.table('decide_challenge')}(${p.merchantId}, ${p.id}, ${p.outcome})`,
)

/** Stores the bank's answer. Changes nothing if an answer exists or the time is over. */
export async function updateOutcome(pools: Pools, key: SessionKey, outcome: TdsStatus): Promise<void> {
  await pools.write.one(decideQuery, { ...key, outcome })
}
