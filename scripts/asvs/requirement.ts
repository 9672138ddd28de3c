/** The services that each requirement is asked of. */
export const SERVICES = ['auth', 'payments', 'inventory'] as const
/** The name of a service that requirements are asked of. */
export type Service = (typeof SERVICES)[number]
/** A program with tagged tests. The console is asked nothing: the page lists what its tests show. */
export type Program = Service | 'console'

/** The answer of a service to a requirement. A requirement that is met has a tagged test. */
export type Standing = 'met' | Documented | Deviation | NotApplicable

/**
 * The requirement asks for documentation, or leaves the matter to the operator: a page from the root of the repository, with a
 * heading.
 */
export interface Documented {
  readonly documented: string
  /** The remarks that the page does not have. */
  readonly note?: string
}

/** The service does not meet the requirement by default, and why. */
export interface Deviation {
  readonly deviation: string
  /** The changes of the strict profile of auth. */
  readonly strict?: string
  /** The strict profile closes only a part of the deviation. */
  readonly isPartial?: true
}

/** The service has nothing that the requirement is about, and why. */
export interface NotApplicable {
  readonly notApplicable: string
}

/** `outside`: the whole chapter does not apply to the service, and the page says so once. */
export type ServiceStanding = Standing | 'outside'

/** A requirement of the OWASP Application Security Verification Standard 5.0.0, in our words. */
export interface Requirement {
  readonly id: string
  readonly level: 1 | 2
  readonly asks: string
  readonly standings: Readonly<Record<Service, ServiceStanding>>
}

/** Why a chapter does not apply to a service. */
export type Reasons = Readonly<Partial<Record<Service, string>>>

/** A chapter of the standard. */
export interface Chapter {
  readonly title: string
  readonly outside: Reasons
  readonly requirements: readonly Requirement[]
}

/**
 * One answer for all services, or one for each service that differs. The other services meet the requirement, or are outside
 * the chapter.
 */
export type Standings = Standing | Readonly<Partial<Record<Service, Standing>>>
/** A requirement as the files of this folder write it. Without an answer, every service meets it. */
export type Row = readonly [id: string, level: 1 | 2, asks: string, standings?: Standings]

/** Makes a chapter of its rows. `outside` names the services that the whole chapter does not apply to. */
export function chapter(title: string, rows: readonly Row[], outside: Reasons = {}): Chapter {
  const requirements = rows.map(([id, level, asks, standings]) => {
    const standingOf = (service: Service) => standingFor(service, standings, outside)
    return {
      id,
      level,
      asks,
      standings: {
        auth: standingOf('auth'),
        payments: standingOf('payments'),
        inventory: standingOf('inventory'),
      },
    }
  })
  return { title, outside, requirements }
}

function standingFor(service: Service, standings: Standings | undefined, outside: Reasons): ServiceStanding {
  const usual = outside[service] === undefined ? 'met' : 'outside'
  if (standings === undefined) return usual
  if (isStanding(standings)) return usual === 'outside' ? usual : standings
  return standings[service] ?? usual
}

function isStanding(standings: Standings): standings is Standing {
  if (standings === 'met') return true
  return 'documented' in standings || 'deviation' in standings || 'notApplicable' in standings
}
