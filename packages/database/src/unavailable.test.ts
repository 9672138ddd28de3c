import { DatabaseError } from 'pg'
import { describe, expect, it } from 'vitest'
import { isDatabaseUnavailable, isLostConflict } from './unavailable.ts'

/** Returns an error of a server. Citus has no error code for messages about other servers. */
function ofCitus(message: string, code = 'XX000'): DatabaseError {
  const error = new DatabaseError(message, message.length, 'error')
  error.code = code
  return error
}

describe('an error of Citus without a code', () => {
  it.each([
    'server closed the connection unexpectedly',
    'connection not open',
    'failure on connection marked as essential: 10.0.0.2:5432',
    'could not receive data from server: Connection reset by peer',
    // The server was killed while it waited for another server.
    'postmaster was shut down, exiting',
  ])('counts as a server that is away, whose commit may be done: %s', (words) => {
    expect([isDatabaseUnavailable(ofCitus(words)), isLostConflict(ofCitus(words))]).toEqual([true, false])
  })

  it('counts as a lost conflict, which wrote nothing, when a part of a table is gone', () => {
    const error = ofCitus('could not find valid entry for shard 102008')
    expect([isDatabaseUnavailable(error), isLostConflict(error)]).toEqual([true, true])
  })

  it('counts as an error of the service with any other text', () => {
    const error = ofCitus('could not create distributed plan')
    expect([isDatabaseUnavailable(error), isLostConflict(error)]).toEqual([false, false])
  })
})

describe('a table that does not exist', () => {
  it.each([
    ['a lost conflict, where it was a part of a table', 'relation "payments.transactions_102066" does not exist', true],
    ['an error of the service, where it is a table', 'relation "payments.transactions" does not exist', false],
  ])('is %s', (_what, words, isLost) => {
    const error = ofCitus(words, '42P01')
    expect([isDatabaseUnavailable(error), isLostConflict(error)]).toEqual([isLost, isLost])
  })
})
