import { MultiSelect } from '@mantine/core'
import type { ReactNode } from 'react'
import { useFilters } from '../filters.ts'
import { DateRange } from './date-range.tsx'
import { FilterBar } from './filter-bar.tsx'
import { MoneyFilter, TextFilter } from './filter-inputs.tsx'
import { DensitySwitch } from './record-table.tsx'
import { useStatusName } from './status.tsx'

/**
 * Filters of a list of records: the period, those in `children`, and those in `more` behind a button. The switch for dense
 * rows is among them.
 */
export function ListFilters({ children, more }: { children?: ReactNode; more?: ReactNode }) {
  const filters = useFilters()
  return (
    <FilterBar
      count={filters.count}
      onClear={filters.clear}
      common={
        <>
          <DateRange />
          {children}
          <DensitySwitch />
        </>
      }
      more={more}
    />
  )
}

/** The filters of a list of transactions or withdrawals: period, statuses, amounts and texts. */
export function RecordFilters<Name extends string>({
  statuses,
  textFilters,
  words: t,
}: {
  statuses: string[]
  textFilters: readonly Name[]
  words: Record<'status' | 'anyStatus' | 'minAmount' | 'maxAmount' | Name, string>
}) {
  const nameOf = useStatusName()
  const filters = useFilters()
  return (
    <ListFilters
      more={
        <>
          <MultiSelect
            label={t.status}
            placeholder={filters.all('status').length === 0 ? t.anyStatus : ''}
            data={statuses.map((value) => ({ value, label: nameOf(value) }))}
            value={filters.all('status')}
            onChange={(value) => filters.set({ status: value })}
            clearable
          />
          <MoneyFilter label={t.minAmount} name="minAmount" />
          <MoneyFilter label={t.maxAmount} name="maxAmount" />
          {textFilters.map((name) => (
            <TextFilter key={name} label={t[name]} name={name} />
          ))}
        </>
      }
    />
  )
}
