/** The name and the logo: an open barrier. */

export const Brand = () => (
  <span class="brand">
    <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" />
      <path d="M9 24V9.500M6 24h6" />
      <path d="m10.500 12 15-4" />
    </svg>
    tollgate
  </span>
)
