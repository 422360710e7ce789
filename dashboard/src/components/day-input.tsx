import { ActionIcon, Input, Popover, TextInput, type TextInputProps } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useRef, useState } from 'react'
import { parseDay, parseTime, writeDay } from '../days.ts'
import { texts, useLanguage, useText } from '../text.ts'
import { Calendar } from './calendar.tsx'
import { IconOf } from './icons.tsx'

const words = texts({
  en: {
    placeholder: 'yyyy-mm-dd',
    open: 'Open calendar',
    calendar: 'Calendar',
    time: (label: string) => `${label}: time`,
    invalid: 'Enter a day such as 23 Nov 2026 or 2026-11-23.',
    invalidTime: 'Enter a time such as 14:30.',
    from: (day: string) => `${day} at the earliest.`,
    until: (day: string) => `${day} at the latest.`,
  },
  pt: {
    placeholder: 'dd/mm/aaaa',
    open: 'Abrir calendário',
    calendar: 'Calendário',
    time: (label: string) => `${label}: hora`,
    invalid: 'Informe uma data como 23/11/2026.',
    invalidTime: 'Informe uma hora como 14:30.',
    from: (day: string) => `A partir de ${day}.`,
    until: (day: string) => `Até ${day}.`,
  },
})

/** Lets a value be typed as a text: `parse` gives the value of a text, or what is wrong with it. */
function useTyped({
  value,
  onChange,
  write,
  parse,
}: {
  value: string
  onChange: (value: string) => void
  write: (value: string) => string
  parse: (text: string) => { value: string } | { error: string }
}) {
  // The text, whether the typing has ended, and the value before it.
  const [typed, setTyped] = useState<{ text: string; isDone: boolean; before: string } | null>(null)
  const meant = typed === null ? null : parse(typed.text)
  const error = meant && 'error' in meant ? meant.error : null
  // The value was changed elsewhere, such as by a preset.
  if (typed && value !== typed.before && value !== (meant && 'value' in meant && meant.value)) setTyped(null)
  const finish = () => {
    if (meant === null) return
    if ('error' in meant) return setTyped((now) => now && { ...now, isDone: true })
    if (meant.value !== value) onChange(meant.value)
    setTyped(null)
  }
  return {
    error: typed?.isDone ? error : null,
    forget: () => setTyped(null),
    input: {
      value: typed?.text ?? write(value),
      // The browser does not send a form while a text matches no value.
      ...(error !== null && { pattern: '(?!)' }),
      onChange: ({ currentTarget: { value: text } }: { currentTarget: { value: string } }) => {
        setTyped({ text, isDone: false, before: value })
        const next = parse(text)
        // A text without the year, or with a part of it, may not be finished.
        if ('value' in next && (text === '' || /\d{4}|:\d\d/.test(text)) && next.value !== value) onChange(next.value)
      },
      onBlur: finish,
      onInvalid: finish,
      onKeyDown: ({ key }: { key: string }) => {
        if (key === 'Enter') finish()
      },
    },
  }
}

export type DayInputProps = Omit<TextInputProps, 'value' | 'onChange' | 'type' | 'min' | 'max'> & {
  /** yyyy-mm-dd, or empty. */
  value: string
  onChange: (day: string) => void
  /** The first and the last day that can be chosen. */
  min?: string
  max?: string
  hasCalendar?: boolean
}

/** A day of Brasília: it is typed in the language of the dashboard, or chosen in a calendar. */
export function DayInput({ value, onChange, min, max, hasCalendar = true, error, ...others }: DayInputProps) {
  const t = useText(words)
  const { language } = useLanguage()
  const [isOpen, { open, close }] = useDisclosure(false)
  const field = useRef<HTMLInputElement>(null)
  const typed = useTyped({
    value,
    onChange,
    write: (day) => writeDay(day, language),
    parse: (text) => {
      if (text.trim() === '') return { value: '' }
      const day = parseDay(text)
      if (day === null) return { error: t.invalid }
      if (min !== undefined && day < min) return { error: t.from(writeDay(min, language)) }
      return max !== undefined && day > max ? { error: t.until(writeDay(max, language)) } : { value: day }
    },
  })
  const input = (
    <TextInput
      placeholder={t.placeholder}
      autoComplete="off"
      // A keyboard of digits is enough: 23112026 is a day as well.
      inputMode={language === 'pt' ? 'numeric' : 'text'}
      {...others}
      {...typed.input}
      ref={field}
      error={typed.error ?? error}
      onKeyDown={(event) => {
        typed.input.onKeyDown(event)
        if (event.altKey && event.key === 'ArrowDown' && hasCalendar) open()
      }}
      {...(hasCalendar && {
        rightSection: (
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t.open}
            aria-haspopup="dialog"
            aria-expanded={isOpen}
            disabled={others.disabled ?? false}
            onClick={isOpen ? close : open}
          >
            <IconOf name="month" size={18} />
          </ActionIcon>
        ),
      })}
    />
  )
  if (!hasCalendar) return input
  return (
    <Popover opened={isOpen} onChange={close} position="bottom-end" shadow="md" trapFocus returnFocus withRoles={false}>
      <Popover.Target>
        <div>{input}</div>
      </Popover.Target>
      <Popover.Dropdown role="dialog" aria-label={t.calendar}>
        <Calendar
          takesFocus
          from={value}
          until={value}
          {...(min !== undefined && { min })}
          {...(max !== undefined && { max })}
          onChoose={(day) => {
            typed.forget()
            onChange(day)
            close()
            field.current?.focus()
          }}
        />
      </Popover.Dropdown>
    </Popover>
  )
}

/** A day and a time of Brasília: yyyy-mm-ddThh:mm, or empty without a day. */
export function DayTimeInput({ label, ...others }: Omit<DayInputProps, 'label'> & { label: string }) {
  const t = useText(words)
  const { value, onChange } = others
  const [day = '', time = '00:00'] = value.split('T')
  const typed = useTyped({
    value: time,
    onChange: (next) => day !== '' && onChange(`${day}T${next}`),
    write: (text) => text,
    parse: (text) => {
      const next = parseTime(text)
      return next === null ? { error: t.invalidTime } : { value: next }
    },
  })
  return (
    <Input.Wrapper label={label} error={typed.error} labelElement="div">
      <div className="day-time">
        <DayInput
          {...others}
          aria-label={label}
          value={day}
          onChange={(next) => onChange(next === '' ? '' : `${next}T${time}`)}
        />
        <TextInput
          {...typed.input}
          aria-label={t.time(label)}
          aria-invalid={typed.error !== null}
          inputMode="numeric"
          maxLength={5}
          autoComplete="off"
          disabled={day === ''}
        />
      </div>
    </Input.Wrapper>
  )
}
