import type { Transaction } from 'kysely'
import type { AuthTables } from './database.ts'

/**
 * An open transaction on the tables. What a function does with it is committed together with what its caller does, or not at
 * all.
 *
 * Lock order: a user before what belongs to the user, so that two transactions never wait for each other. The function sign_up
 * (migrations/auth/functions) says where the intervals of messages stand in this order.
 */
export type Trx = Transaction<AuthTables>
