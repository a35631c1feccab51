// SPDX-License-Identifier: Apache-2.0

package symbol

// account counts a table that was read for a module, and throws others out where limits ask it.
func (r *Resolver) account(m *module, read *table) {
	if read != nil && !r.fits(m, read) {
		m.giveUp()
	}
}

// fits reports false for a table that is beyond the limits alone.
func (r *Resolver) fits(m *module, read *table) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.modules[m.key] != m {
		m.table.Store(nil) // dropped meanwhile
		return true
	}
	if m.bytes == 0 {
		r.tables++
	}
	r.bytes += read.bytes() - m.bytes
	m.bytes = read.bytes()
	for r.bytes > r.limits.Bytes || r.tables > r.limits.Tables {
		oldest := m
		for _, other := range r.modules {
			if other != m && other.bytes > 0 && (oldest == m || other.used.Load() < oldest.used.Load()) {
				oldest = other
			}
		}
		r.losses.Tables++
		r.throwOut(oldest)
		if oldest == m {
			return false
		}
	}
	return true
}

// throwOut needs the resolver's lock.
func (r *Resolver) throwOut(m *module) {
	m.table.Store(nil)
	if m.bytes > 0 {
		r.tables--
		r.bytes -= m.bytes
		m.bytes = 0
	}
}
