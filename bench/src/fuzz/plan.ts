import { isLiteral } from './hostile.ts'
import { isFromMemory } from './valid-value.ts'

/** The credentials of a request. An operator has the role admin. A viewer is an operator who may only read. */
export type Credential = KnownCredential | 'none' | { readonly header: string }

export type KnownCredential = 'own' | 'privileged' | 'operator' | 'viewer'

export interface PlannedBody {
  /** `undefined` for no Content-Type. */
  readonly type: string | undefined
  readonly value: unknown
  readonly spoil: (bytes: Buffer) => Buffer
}

/** A request without concrete ids and tokens. Equal seeds give equal requests. */
export interface Plan {
  readonly method: string
  readonly path: string
  readonly params: Readonly<Record<string, unknown>>
  /** Text that follows the path. */
  readonly ending: string
  readonly query: readonly (readonly [name: unknown, value: unknown])[]
  readonly headers: readonly (readonly [name: string, value: unknown])[]
  readonly body: PlannedBody | undefined
  readonly credential: Credential
  readonly actor: number
}

/** Returns the number of values inside a value, at any depth. */
export function countValues(value: unknown): number {
  return membersOf(value).reduce((sum, [, member]) => sum + 1 + countValues(member), 0)
}

/** Replaces one value inside a value. `at` selects it. `undefined` removes it. */
export function replaceAt(value: unknown, at: number, change: (value: unknown) => unknown): unknown {
  const count = countValues(value)
  return count === 0 ? value : replaceNth(value, at % count, change)
}

function replaceNth(value: unknown, nth: number, change: (value: unknown) => unknown): unknown {
  let rest = nth
  const members = membersOf(value).map(([name, member]) => {
    const inside = countValues(member)
    const place = rest
    rest -= 1 + inside
    if (place < 0 || place > inside) return [name, member] as const
    return [name, place === 0 ? change(member) : replaceNth(member, place - 1, change)] as const
  })
  const kept = members.filter(([, member]) => member !== undefined)
  return Array.isArray(value) ? kept.map(([, member]) => member) : Object.fromEntries(kept)
}

function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null && !isFromMemory(value) && !isLiteral(value)
    ? Object.entries(value)
    : []
}
