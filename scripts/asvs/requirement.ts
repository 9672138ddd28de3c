import { parse } from 'yaml'
import { z } from 'zod'

export const SERVICES = ['auth', 'payments', 'inventory'] as const
export type Service = (typeof SERVICES)[number]
/** A program with tagged tests. The console has no standings: the page only lists its tests. */
export type Program = Service | 'console'

/** How a service meets a requirement, from `requirements.yaml`. A met requirement has a tagged test. */
const Standing = z.union([
  z.literal('met'),
  z.strictObject({ documented: z.string(), note: z.string().optional() }),
  z.strictObject({ deviation: z.string(), strict: z.string().optional(), isPartial: z.literal(true).optional() }),
  z.strictObject({ notApplicable: z.string() }),
])
const Level = z.literal([1, 2])
const Row = z.object({ level: Level, asks: z.string() }).catchall(Standing)
const Chapters = z.array(
  z.strictObject({
    title: z.string(),
    outside: z.record(z.string(), z.string()).default({}),
    requirements: z.record(z.string(), Row),
  }),
)

/** `outside`: the whole chapter does not apply to the service, which the page states once. */
export type ServiceStanding = z.infer<typeof Standing> | 'outside'

export interface Requirement {
  readonly id: string
  readonly level: z.infer<typeof Level>
  readonly asks: string
  readonly standings: Readonly<Record<Service, ServiceStanding>>
}

/** A chapter of the standard. `outside` has a reason for each service to which the whole chapter does not apply. */
export interface Chapter {
  readonly title: string
  readonly outside: Readonly<Partial<Record<Service, string>>>
  readonly requirements: readonly Requirement[]
}

/** Reads chapters in the format of `requirements.yaml`. @throws Error for another format or an unknown service */
export function readChapters(text: string): readonly Chapter[] {
  return Chapters.parse(parse(text)).map(({ title, outside, requirements }) => {
    const reasons = perService(outside)
    return {
      title,
      outside: reasons,
      requirements: Object.entries(requirements).map(([id, { level, asks, ...answers }]) => {
        const { all, ...named } = answers
        const own = perService(named)
        const standingOf = (service: Service): ServiceStanding =>
          own[service] ?? (reasons[service] === undefined ? (all ?? 'met') : 'outside')
        const [auth, payments, inventory] = [standingOf('auth'), standingOf('payments'), standingOf('inventory')]
        return { id, level, asks, standings: { auth, payments, inventory } }
      }),
    }
  })
}

/** Splits keys such as `auth, inventory` and `all`. */
function perService<Value>(values: Readonly<Record<string, Value>>): Readonly<Partial<Record<Service, Value>>> {
  const entries = Object.entries(values).flatMap(([names, value]) =>
    (names === 'all' ? SERVICES : z.array(z.enum(SERVICES)).parse(names.split(', '))).map((name) => [name, value]),
  )
  return Object.fromEntries(entries)
}
