/** A connection whose client has not taken all that waits for it. */
export interface Owing {
  readonly client: string
  /** Bytes that wait, and what stands behind them. */
  readonly bytes: number
  /** When the client has last taken something. */
  readonly sinceMs: number
}

/**
 * The connections to cut so that no more than so many bytes wait: each time one of the client for which most waits, that which
 * has taken nothing for longest. A client that takes what it has asked for keeps its answer, however many others let theirs
 * lie. The last connection may have it all: no answer is too large for a client that reads it.
 */
export function findCrowding<T extends Owing>(owing: readonly T[], bytesMax: number): readonly T[] {
  let waiting = sumOf(owing)
  if (waiting <= bytesMax) return []
  const clients = [...Map.groupBy(owing, ({ client }) => client).values()].map((connections) => ({
    bytes: sumOf(connections),
    connections: connections.sort((one, other) => one.sinceMs - other.sinceMs),
  }))
  const crowding: T[] = []
  while (waiting > bytesMax && crowding.length < owing.length - 1) {
    const most = clients.reduce((one, other) => (other.bytes > one.bytes ? other : one))
    const connection = most.connections.shift()
    if (connection === undefined) break
    most.bytes -= connection.bytes
    waiting -= connection.bytes
    crowding.push(connection)
  }
  return crowding
}

function sumOf(owing: readonly Owing[]): number {
  return owing.reduce((sum, { bytes }) => sum + bytes, 0)
}
