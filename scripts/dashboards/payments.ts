import { jobsOf, processesOf, requestsOf, standbyOf } from './common-sections.ts'
import type { Dashboard } from './dashboard.ts'
import { guards, money } from './payments-sections.ts'

export const payments: Dashboard = {
  uid: 'trestle-payments',
  title: 'Trestle: payments',
  sections: [
    requestsOf('payments'),
    ...money,
    jobsOf('payments'),
    ...guards,
    processesOf('payments'),
    standbyOf('payments'),
  ],
}
