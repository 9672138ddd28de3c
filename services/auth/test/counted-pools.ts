import type { Pools } from '@trestle/database/pools.ts'

/** Pools that record each write call. */
export interface CountedPools {
  readonly pools: Pools
  /** The number of requests in each call, or 'alone' for a single request outside a batch. */
  readonly batches: (number | 'alone')[]
}

/** Records the number of requests in each batched write. */
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
