import type { Lanes } from '@trestle/database/lanes.ts'

/** Lanes that record each call that writes. */
export interface CountedLanes {
  readonly lanes: Lanes
  /** How many requests each call is for; 'alone' for the call of a single request. */
  readonly batches: (number | 'alone')[]
}

/** Records how many calls each batched write carries. */
export function countLanes(lanes: Lanes): CountedLanes {
  const batches: (number | 'alone')[] = []
  const { write } = lanes
  const counted: Lanes = {
    ...lanes,
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
  return { lanes: counted, batches }
}
