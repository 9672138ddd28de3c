import { dependencyFaults } from './dependency-faults.ts'
import type { Fault } from './fault.ts'
import { moneyFaults } from './money-faults.ts'

/** One for every alert. */
export const faults: readonly Fault[] = [...dependencyFaults, ...moneyFaults]
