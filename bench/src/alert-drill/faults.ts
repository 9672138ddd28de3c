import type { Fault } from './fault.ts'
import { moneyAndSessionFaults } from './money-and-session-faults.ts'
import { serviceFaults } from './service-faults.ts'
import { workFaults } from './work-faults.ts'

/** One for every alert. */
export const faults: readonly Fault[] = [...moneyAndSessionFaults, ...workFaults, ...serviceFaults]
