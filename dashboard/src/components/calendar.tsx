import { ActionIcon } from '@mantine/core'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { lastDayOf, shiftDay, shiftDayByMonths, shiftMonth, todayInBrasilia, weekdayOf } from '../days.ts'
import { type Format, useFormat } from '../format.ts'
import { texts, useLanguage, useText } from '../text.ts'

const words = texts({
  en: { before: 'Previous month', after: 'Next month' },
  pt: { before: 'Mês anterior', after: 'Próximo mês' },
})

/** The week begins on Monday in British English, and on Sunday in Brazil. */
const firstWeekday = { en: 1, pt: 0 } as const

/** Keeps the Escape key in the calendar from closing the dialog around it. */
const ownEscape = { 'data-mantine-stop-propagation': true }

/**
 * The months of a calendar, side by side, with the chosen days. The Tab key reaches one day; the arrow keys move to the
 * others.
 */
export function Calendar({
  from,
  until,
  min = '',
  max = '9999',
  months = 1,
  takesFocus = false,
  onChoose,
}: {
  /** Yyyy-mm-dd, or empty. */
  from: string
  until: string
  min?: string
  max?: string
  months?: number
  /** For a popover with nothing but the calendar: the focus begins at the current day. */
  takesFocus?: boolean
  onChoose: (day: string) => void
}) {
  const t = useText(words)
  const { language } = useLanguage()
  const format = useFormat()
  const clamp = (day: string) => (day < min ? min : day > max ? max : day)
  const [current, setCurrent] = useState(() => clamp(until || from || todayInBrasilia()))
  const [first, setFirst] = useState(() => shiftMonth(current.slice(0, 7), 1 - months))
  const grids = useRef<HTMLDivElement>(null)
  const isMoved = useRef(false)
  const last = shiftMonth(first, months - 1)

  useEffect(() => {
    if (isMoved.current) grids.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus()
    isMoved.current = false
  })

  const moveTo = (day: string) => {
    const next = clamp(day)
    isMoved.current = true
    setCurrent(next)
    if (next.slice(0, 7) < first) setFirst(next.slice(0, 7))
    if (next.slice(0, 7) > last) setFirst(shiftMonth(next.slice(0, 7), 1 - months))
  }
  const turn = (by: number) => {
    setFirst(shiftMonth(first, by))
    const stays = current.slice(0, 7) !== (by > 0 ? first : last)
    if (!stays) setCurrent(clamp(shiftDayByMonths(current, by)))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const next = moveByKey(event, current, firstWeekday[language])
    if (next === null) return
    event.preventDefault()
    moveTo(next)
  }

  return (
    <div className="calendar" ref={grids}>
      {Array.from({ length: months }, (_, index) => shiftMonth(first, index)).map((month, index) => (
        <div key={month}>
          <div className="calendar-head">
            {index === 0 && (
              <Turn label={t.before} isDisabled={`${first}-01` <= min} onClick={() => turn(-1)}>
                ‹
              </Turn>
            )}
            <span aria-live="polite">{format.month(month)}</span>
            {index === months - 1 && (
              <Turn label={t.after} isDisabled={lastDayOf(last) >= max} onClick={() => turn(1)}>
                ›
              </Turn>
            )}
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: arrow keys move through its days */}
          <table role="grid" aria-label={format.month(month)} onKeyDown={onKeyDown}>
            <Weekdays first={firstWeekday[language]} format={format} />
            <tbody>
              {weeksOf(month, firstWeekday[language]).map((week) => (
                <tr key={week[0]}>
                  {week.map((day) =>
                    day.startsWith(month) ? (
                      <Day
                        key={day}
                        day={day}
                        label={format.fullDate(day)}
                        isCurrent={day === current}
                        takesFocus={takesFocus && day === current}
                        isOff={day < min || day > max}
                        place={placeOf(day, from, until)}
                        onChoose={onChoose}
                      />
                    ) : (
                      <td key={day} />
                    ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ))}
    </div>
  )
}

function Turn({
  label,
  isDisabled,
  onClick,
  children,
}: {
  label: string
  isDisabled: boolean
  onClick: () => void
  children: string
}) {
  return (
    <ActionIcon
      {...ownEscape}
      variant="subtle"
      color="gray"
      aria-label={label}
      disabled={isDisabled}
      onClick={onClick}
      fz={20}
    >
      {children}
    </ActionIcon>
  )
}

function Weekdays({ first, format }: { first: number; format: Format }) {
  // 2023-01-01 was a Sunday.
  const days = Array.from({ length: 7 }, (_, index) => shiftDay('2023-01-01', first + index))
  return (
    <thead>
      <tr>
        {days.map((day) => (
          <th key={day} scope="col" abbr={format.weekday(day)}>
            {format.weekday(day).slice(0, 3)}
          </th>
        ))}
      </tr>
    </thead>
  )
}

type Place = 'none' | 'within' | 'end'

function Day({
  day,
  label,
  isCurrent,
  takesFocus,
  isOff,
  place,
  onChoose,
}: {
  day: string
  label: string
  isCurrent: boolean
  takesFocus: boolean
  isOff: boolean
  place: Place
  onChoose: (day: string) => void
}) {
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: the cell of a grid
    <td aria-selected={place !== 'none'} data-place={place}>
      <button
        {...ownEscape}
        type="button"
        aria-label={label}
        aria-disabled={isOff}
        {...(day === todayInBrasilia() && { 'aria-current': 'date' })}
        tabIndex={isCurrent ? 0 : -1}
        {...(takesFocus && { 'data-autofocus': true })}
        onClick={() => !isOff && onChoose(day)}
      >
        {Number(day.slice(8))}
      </button>
    </td>
  )
}

function placeOf(day: string, from: string, until: string): Place {
  if (day === from || day === until) return 'end'
  return from !== '' && until !== '' && from < day && day < until ? 'within' : 'none'
}

/** The weeks of a month, the first and the last one with days of the other months. */
function weeksOf(month: string, firstWeekday: number): string[][] {
  const start = `${month}-01`
  const before = (weekdayOf(start) - firstWeekday + 7) % 7
  const weeks = Math.ceil((before + Number(lastDayOf(month).slice(8))) / 7)
  return Array.from({ length: weeks }, (_, week) =>
    Array.from({ length: 7 }, (__, weekday) => shiftDay(start, week * 7 + weekday - before)),
  )
}

/** The day to which a key leads, or null for another key. */
function moveByKey({ key, shiftKey }: KeyboardEvent, day: string, firstWeekday: number): string | null {
  const weekday = (weekdayOf(day) - firstWeekday + 7) % 7
  switch (key) {
    case 'ArrowLeft':
      return shiftDay(day, -1)
    case 'ArrowRight':
      return shiftDay(day, 1)
    case 'ArrowUp':
      return shiftDay(day, -7)
    case 'ArrowDown':
      return shiftDay(day, 7)
    case 'Home':
      return shiftDay(day, -weekday)
    case 'End':
      return shiftDay(day, 6 - weekday)
    case 'PageUp':
      return shiftDayByMonths(day, shiftKey ? -12 : -1)
    case 'PageDown':
      return shiftDayByMonths(day, shiftKey ? 12 : 1)
    default:
      return null
  }
}
