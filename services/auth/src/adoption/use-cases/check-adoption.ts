import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { adoptOptions } from '../../migrations.ts'
import { listOpenTriggers, type OpenTriggers } from '../../schema/catalog.ts'
import { type AdoptionDeps, placesOf } from '../adoption-record.ts'
import { listReplaced } from '../changes/added-columns.ts'
import { type EarlierRun, findObstacles } from '../check/find-obstacles.ts'
import {
  type Dependent,
  type IdentityReader,
  listDependents,
  listIdentityReaders,
  listInhabitants,
  listNarrowPublications,
  listWidePublications,
} from '../check/list-dependents.ts'
import { countRefusedPayloads, describeRewritten } from '../copy/copy-audit-log.ts'
import { countOpenFlows, lifetimesOf, listUnfitProviders } from '../copy/copy-live-rows.ts'
import { countTokensWithoutSession } from '../copy/copy-refresh-tokens.ts'
import { type AdoptionRun, listSharedEmails } from '../prepare/begin-adoption.ts'
import {
  type AdminGroup,
  countAskedAgain,
  listAdmins,
  listBrokenValues,
  listClientSessions,
  listClosedSecrets,
  listLoneAudience,
  listLostSignIns,
  listMalformedPhones,
  listOtherInstances,
  type OtherInstances,
} from '../report.ts'
import { STAYING } from '../switch-tables.ts'
import { countRows, type Loss, readEncoding, SERVED, UNSERVED } from '../upstream-tables.ts'

/** The report of `adopt --check`, which changes no row. */
export interface AdoptionCheck {
  /** The newest migration of supabase/auth, or `none`. If there are obstacles, the other members are empty. */
  readonly version: string
  /** The state of an earlier run. After a run that has made the switch, only this state and the version are reported. */
  readonly earlierRun: EarlierRun
  /** The reasons why the database cannot be adopted, with advice. Empty if it can be adopted. */
  readonly obstacles: readonly string[]
  /** Triggers, functions and settings that the operator should check before, one per line. */
  readonly doubts: readonly string[]
  /** The encoding of the database as PostgreSQL names it. */
  readonly encoding: string
  /** The numbers of rows by table. */
  readonly rows: ReadonlyMap<string, number>
  /** Tables with rows that do not change, because this service does not have their feature. */
  readonly notYetServed: ReadonlyMap<string, number>
  /** The rows that cannot be carried over. */
  readonly losses: readonly Loss[]
  /** The number of users who must answer a second factor or a passkey again, if they are doing so during the switch. */
  readonly askedAgain: number
  /** The number of refresh tokens from before supabase/auth had sessions. The switch creates a session for each. */
  readonly tokensWithoutSession: number
  /** Emails that several users share, in lower case. Only the oldest confirmed user can sign in with such an email. */
  readonly sharedEmails: readonly string[]
  /** Users who are admins both here and at supabase/auth. */
  readonly admins: readonly AdminGroup[]
  /** Users who cannot sign in at supabase/auth but can sign in here. */
  readonly otherInstances: OtherInstances
  /** The objects that depend on a table that moves. */
  readonly dependents: readonly Dependent[]
  /** Publications of tables that stay. They will also publish the columns of this service. */
  readonly published: readonly Dependent[]
  /** Publications that will also publish the tables of this service. */
  readonly publications: readonly string[]
  /** The objects that read the subjects of identities, if the switch renames their column. */
  readonly identityReaders: readonly IdentityReader[]
  /** Trigger functions that will run with another search path, and their present search path. */
  readonly openTriggers: OpenTriggers
  /** The other objects of the schema. */
  readonly inhabitants: readonly string[]
  /** The estimated time of an adoption. */
  readonly seconds: AdoptionSeconds
}

/** The times of both parts of an adoption in seconds, on two idle cores. On busy cores they are several times as long. */
export interface AdoptionSeconds {
  /** The time of `auth adopt --prepare`, while the old service works. */
  readonly prepare: number
  /** The time of `auth adopt` afterwards, while neither service works. */
  readonly pause: number
}

/** Counts only open flows, because `flow_state` keeps expired flows for a day. 60,000 open flows took 0.6 s of the pause. */
const OPEN_FLOWS = 'open flows'
/** Refresh tokens without a session. The switch creates a session for each. 60,000 took 4 s of the pause. */
const TOKENS_WITHOUT_SESSION = 'tokens without session'

/**
 * Rows per second for each part, and the seconds for an empty database. A test had 20,000 users, 60,000 sessions with one token
 * each, and 100,000 entries of the audit log. Its parts took 7 s and 4 s of processor time (`bench/src/speed/adopt-size.ts`).
 * About the same time is added for disk waits.
 */
const COSTS = {
  prepare: { emptySeconds: 5, rates: { users: 10_000, sessions: 20_000, refresh_tokens: 20_000 } },
  pause: {
    emptySeconds: 5,
    rates: {
      users: 200_000,
      refresh_tokens: 200_000,
      audit_log_entries: 20_000,
      [OPEN_FLOWS]: 60_000,
      [TOKENS_WITHOUT_SESSION]: 15_000,
    },
  },
} as const

/**
 * Reports the effects of an adoption without changing a row. Tests triggers of other programs in transactions that are rolled
 * back. Meanwhile requests to their tables wait, and used sequence values are not given back.
 */
export async function checkAdoption(
  { config, encryptionKeys, now }: Omit<AdoptionDeps, 'randomBytes'>,
  { force }: Pick<AdoptionRun, 'force'>,
): Promise<AdoptionCheck> {
  const target = adoptOptions(config)
  const { names } = target
  const places = placesOf(names)
  return withDatabase(target, async (db) => {
    const found = await findObstacles(db, { names, force, role: config.database.role, reach: 'nothing outside' })
    const { version, earlierRun, obstacles, doubts } = found
    const isBefore = earlierRun === 'none' || earlierRun === 'begun'
    if (!isBefore || obstacles.length > 0) return { ...NOTHING, ...found }
    const served = await countRows(db, places, SERVED)
    const openFlows = await countOpenFlows(db, places, lifetimesOf(config, now()))
    const tokensWithoutSession = await countTokensWithoutSession(db, places)
    const unserved = await countRows(db, places, UNSERVED)
    const unfit = await listUnfitProviders(db, places, { encryptionKeys })
    return {
      version,
      earlierRun,
      obstacles,
      doubts: [...doubts, ...(await listLoneAudience(db, places, config.jwt))],
      encoding: await readEncoding(db),
      rows: served,
      notYetServed: new Map([...unserved].filter(([, count]) => count > 0)),
      losses: [
        ...(await listLostSignIns(db, places, config.jwt.audience)),
        ...(await listClosedSecrets(db, places, encryptionKeys)),
        ...(await listBrokenValues(db, places)),
        ...(await listMalformedPhones(db, places, { areFound: config.compatibility.findUserByMalformedPhone })),
        ...(await listClientSessions(db, places, 'they go on only after adopt --undo')),
        ...describeRewritten(await countRefusedPayloads(db, places)),
        ...unfit.map((identifier) => ({ what: `provider ${identifier}: create it again afterwards`, count: 1 })),
      ],
      askedAgain: await countAskedAgain(db, places),
      tokensWithoutSession,
      sharedEmails: await listSharedEmails(db, names),
      admins: await listAdmins(db, places, config.jwt.adminRoles),
      otherInstances: await listOtherInstances(db, places),
      dependents: await listDependents(db, places, await listReplaced(names)),
      published: await listNarrowPublications(db, places, STAYING),
      publications: await listWidePublications(db, places),
      identityReaders: await listIdentityReaders(db, places),
      openTriggers: await listOpenTriggers(db, names),
      inhabitants: await listInhabitants(db, places),
      seconds: {
        prepare: estimate(served, COSTS.prepare),
        pause: estimate(
          new Map([...served, [OPEN_FLOWS, openFlows], [TOKENS_WITHOUT_SESSION, tokensWithoutSession]]),
          COSTS.pause,
        ),
      },
    }
  })
}

const NOTHING = {
  encoding: 'UTF8',
  rows: new Map(),
  notYetServed: new Map(),
  losses: [],
  askedAgain: 0,
  tokensWithoutSession: 0,
  sharedEmails: [],
  admins: [],
  otherInstances: { count: 0, ids: [] },
  dependents: [],
  published: [],
  publications: [],
  identityReaders: [],
  openTriggers: { path: '', functions: [] },
  inhabitants: [],
  seconds: { prepare: 0, pause: 0 },
} as const

function estimate(
  rows: ReadonlyMap<string, number>,
  { emptySeconds, rates }: { readonly emptySeconds: number; readonly rates: Readonly<Record<string, number>> },
): number {
  const parts = Object.entries(rates).map(([table, rate]) => (rows.get(table) ?? 0) / rate)
  return Math.ceil(parts.reduce((sum, part) => sum + part, emptySeconds))
}
