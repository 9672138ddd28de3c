import type { Pools } from '@trestle/database/pools.ts'

/** Pools that record each call that writes. */
export interface CountedPools {
  readonly pools: Pools
  /** How many requests each call is for; 'alone' for the call of a single request. */
  readonly batches: (number | 'alone')[]
}

/** Records how many calls each batched write carries. */
export function countPools(pools: Pools): CountedPools {
  const batches: (number | 'alone')[] = []
  const { write } = pools
  const counted: Pools = {
    ...pools,
    write: {
      ...write,
      all: (query, input) => {
        batches.push(Object.values(input).find(Array.isArray)?.length ?? 0)
        return write.all(query, input)
      },
      one: (query, input) => {
        batches.push('alone')
        return write.one(query, input)
      },
    },
  }
  return { pools: counted, batches }
}
