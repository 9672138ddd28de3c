/** What a new location is made of. */
export interface NewLocation {
  readonly code: string
  readonly name: string
  /** Whether it takes stock. */
  readonly active: boolean
}

/** The members of a location that change; undefined keeps a member. */
export type LocationChange = { readonly [Member in keyof NewLocation]?: NewLocation[Member] | undefined }

/** The location of a change or deletion. */
export interface LocationTarget {
  readonly id: number
  /** The versions that the change may be based on; undefined accepts any version. */
  readonly versions: readonly number[] | undefined
}

/** Why a location is not changed or deleted. `stale`: it has another version. */
export type LocationRefusal = 'not-found' | 'stale'
