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
  /** The newest migration of supabase/auth; `none` elsewhere. With obstacles, the other members are empty. */
  readonly version: string
  /** The work of an earlier run. After a run that has switched, only this and the version are reported. */
  readonly earlierRun: EarlierRun
  /** The reasons why the database cannot be adopted, with advice; empty if it can. */
  readonly obstacles: readonly string[]
  /** Triggers, functions and settings to look at beforehand, each in a line. */
  readonly doubts: readonly string[]
  /** The encoding of the database in the words of PostgreSQL. */
  readonly encoding: string
  /** Rows by table. */
  readonly rows: ReadonlyMap<string, number>
  /** Tables with rows that stay as they are, because this service does not serve their feature. */
  readonly notYetServed: ReadonlyMap<string, number>
  /** The rows that do not carry over. */
  readonly losses: readonly Loss[]
  /** Users who are asked again for a second factor or a passkey, if they are being asked at the switch. */
  readonly askedAgain: number
  /** Refresh tokens from before supabase/auth had sessions. The switch begins a session for each. */
  readonly tokensWithoutSession: number
  /** The emails that several users share, in lower case. The oldest confirmed user of each keeps it for sign-ins. */
  readonly sharedEmails: readonly string[]
  /** Users who are admins here, as they are at supabase/auth. */
  readonly admins: readonly AdminGroup[]
  /** Users who cannot sign in at supabase/auth, and can here. */
  readonly otherInstances: OtherInstances
  /** The objects that name a table that moves. */
  readonly dependents: readonly Dependent[]
  /** Publications of tables that stay, which will publish the columns of this service. */
  readonly published: readonly Dependent[]
  /** Publications that will publish the tables of this service too. */
  readonly publications: readonly string[]
  /** The objects that read the subjects of identities, where the switch gives their column another name. */
  readonly identityReaders: readonly IdentityReader[]
  /** Functions of triggers that will run under another search path, and their present path. */
  readonly openTriggers: OpenTriggers
  /** The other objects of the schema. */
  readonly inhabitants: readonly string[]
  /** How long an adoption takes, about. */
  readonly seconds: AdoptionSeconds
}

/** How long the two parts of an adoption take, in seconds, on two idle cores. Busy ones take several times as long. */
export interface AdoptionSeconds {
  /** `auth adopt --prepare`, while the old service serves. */
  readonly prepare: number
  /** `auth adopt` after it, while nobody serves. */
  readonly pause: number
}

/** Not all of `flow_state`: it keeps flows for a day that have expired. 60,000 open ones took 0.6 s of the pause. */
const OPEN_FLOWS = 'open flows'
/** Refresh tokens without a session, for each of which the switch makes one. 60,000 took 4 s of the pause. */
const TOKENS_WITHOUT_SESSION = 'tokens without session'

/**
 * Rows a second of each part, and the seconds of an empty database. With 20,000 users, 60,000 sessions with a token each and
 * 100,000 entries of the audit log, the parts took 7 s and 4 s of processor time (`bench/src/speed/adopt-size.ts`). About as much
 * again is for the waits of a disk.
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
 * Reports the effects of an adoption, and changes no row. It tries triggers of others in transactions that it takes back:
 * requests of their tables wait meanwhile, and sequences stay advanced.
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
