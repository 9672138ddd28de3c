import type { Lanes } from '@trestle/database/lanes.ts'

/** Lanes that note each call which writes. */
export interface CountedLanes {
  readonly lanes: Lanes
  /** How many tokens each call was about; 'alone' for one that is about a single request. */
  readonly batches: (number | 'alone')[]
}

export function countLanes(lanes: Lanes): CountedLanes {
  const batches: (number | 'alone')[] = []
  const { write } = lanes
  const counted: Lanes = {
    ...lanes,
    write: {
      ...write,
      all: (query, input) => {
        batches.push('tokenHashes' in input && Array.isArray(input.tokenHashes) ? input.tokenHashes.length : 0)
        return write.all(query, input)
      },
      one: (query, input) => {
        batches.push('alone')
        return write.one(query, input)
      },
    },
  }
  return { lanes: counted, batches }
}
